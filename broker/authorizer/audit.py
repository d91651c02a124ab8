"""kafka-authorizer.log: a line for each decision of the authorizer, in Kafka's words.

Source: ``AclAuthorizer.logAuditMessage`` of Kafka 2.8. Denied actions are logged at INFO and allowed ones at
DEBUG. Lines that Kafka logs at TRACE, of checks that only filter an answer, are left out. Clients choose the
names in lines and how many lines there are, so both are limited: one request of 100 MB wrote as much.
"""

from __future__ import annotations

import logging

from barnabas.cluster.model.acls import PatternType
from barnabas.cluster.model.authorization import Action, Requester
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.runtime.line_limit import LINES

LOGGER = "kafka.authorizer.logger"
"""The logger of the lines."""

DENIALS = 1_000
"""The most denials of a principal that are logged in a minute. What is allowed is logged at DEBUG only."""

_log = logging.getLogger(LOGGER)


def audit(requester: Requester, action: Action, request: str, *, allowed: bool, count: int = 1) -> None:
    """Log a decision.

    Args:
        requester: Who asked.
        action: For what.
        request: The name of the request's API.
        allowed: The decision.
        count: How often the request names the resource.
    """
    resource = f"{action.type.title}:{PatternType.LITERAL.name}:{shortened(action.name)}"
    _audit(requester, action.operation.title, resource, request, allowed=allowed, count=count)


def audit_by_type(requester: Requester, operation: str, type_: str, request: str, *, allowed: bool) -> None:
    """Log a decision about any resource of a type."""
    _audit(requester, operation, f"{type_}:UNKNOWN:NONE", request, allowed=allowed, count=1)


def _audit(
    requester: Requester, operation: str, resource: str, request: str, *, allowed: bool, count: int
) -> None:
    level = logging.DEBUG if allowed else logging.INFO
    if not _log.isEnabledFor(level):
        return
    if not (allowed or LINES.allow_of("denials in kafka-authorizer.log", str(requester.principal), DENIALS)):
        return
    line = (
        f"Principal = {requester.principal} is {'Allowed' if allowed else 'Denied'} Operation = {operation} "
        f"from host = {requester.host} on resource = {resource} for request = {request} "
        f"with resourceRefCount = {count}"
    )
    _log.log(level, "%s", printable(line))
