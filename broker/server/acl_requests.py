"""ACLs and filters in requests, checked as Kafka does.

Sources: ``CreateAclsRequest``, ``DescribeAclsRequest``, ``DeleteAclsRequest`` (``validate`` and
``normalizeAndValidate``) and ``KafkaApis.handleCreateAcls`` of Kafka 2.8.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any, TypeVar

from barnabas.broker.server.context import CloseConnectionError
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.acls import (
    CLUSTER_NAME,
    AccessControlEntry,
    AclBinding,
    AclFilter,
    AclOperation,
    AclPermission,
    PatternType,
    ResourcePattern,
    ResourceType,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.principal import principal_of
from barnabas.cluster.runtime.turn import paced

NO_AUTHORIZER = "No Authorizer is configured on the broker"

_C = TypeVar("_C", bound=IntEnum)


class BadAclError(Exception):
    """An error of an ACL that cannot be created; the text says why.

    Attributes:
        error: The error of the ACL in the answer.
    """

    def __init__(self, message: str, error: ErrorCode = ErrorCode.INVALID_REQUEST) -> None:
        super().__init__(message)
        self.error = error


def filter_of(request: Request, asked: Any) -> AclFilter:
    """Return a filter of a DescribeAcls or DeleteAcls request; version 0 knows literal patterns alone.

    Raises:
        CloseConnectionError: The filter has an unknown code, or one that its version does not know.
    """
    pattern = _code(PatternType, getattr(asked, "pattern_type_filter", PatternType.LITERAL))
    return AclFilter(
        _code(ResourceType, asked.resource_type_filter),
        asked.resource_name_filter,
        PatternType.LITERAL if request.version == 0 else pattern,
        asked.principal_filter,
        asked.host_filter,
        _code(AclOperation, asked.operation),
        _code(AclPermission, asked.permission_type),
    )


async def acls_of(request: Request) -> tuple[Any, ...]:
    """Return the ACLs of a CreateAcls request.

    Raises:
        CloseConnectionError: One of them has an unknown code.
    """
    async for each in paced(request.body.creations):
        _code(ResourceType, each.resource_type)
        _code(PatternType, getattr(each, "resource_pattern_type", PatternType.LITERAL))
        _code(AclOperation, each.operation)
        _code(AclPermission, each.permission_type)
    creations: tuple[Any, ...] = request.body.creations
    return creations


def binding_of(asked: Any) -> AclBinding:
    """Return the ACL to create.

    A name with a slash would be several znodes, whose ACLs no broker finds at its next start.

    Raises:
        BadAclError: It cannot be created.
    """
    type_, name = ResourceType(asked.resource_type), asked.resource_name
    pattern = PatternType(getattr(asked, "resource_pattern_type", PatternType.LITERAL))
    operation, permission = AclOperation(asked.operation), AclPermission(asked.permission_type)
    if type_ is ResourceType.CLUSTER and name != CLUSTER_NAME:
        raise BadAclError(f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}")
    if not name:
        raise BadAclError("Invalid empty resource name")
    if "/" in name or name in {".", ".."}:
        raise BadAclError(f"Invalid resource name {name!r}; expected one without a slash that is not . or ..")
    for code in (type_, pattern, operation, permission):
        if code.name in {"ANY", "MATCH"}:
            raise BadAclError(
                f"An ACL cannot have {type(code).__name__} {code.name}", ErrorCode.UNKNOWN_SERVER_ERROR
            )
    try:
        principal = principal_of(asked.principal)
    except ValueError as error:
        raise BadAclError(str(error), ErrorCode.UNKNOWN_SERVER_ERROR) from error
    entry = AccessControlEntry(str(principal), asked.host, operation, permission)
    return AclBinding(ResourcePattern(type_, name, pattern), entry)


def _code(kind: type[_C], number: int) -> _C:
    try:
        return kind(number)
    except ValueError:
        raise CloseConnectionError(
            "a request about ACLs with an unknown code", code=f"{kind.__name__} {number}"
        ) from None
