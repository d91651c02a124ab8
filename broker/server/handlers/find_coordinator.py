"""FindCoordinator (10): the leader of a group's partition of ``__consumer_offsets``.

The topic is created when somebody asks for the first time. There are no transactions: a transactional id gets
an error that its client shows and does not retry. Sources: ``KafkaApis.handleFindCoordinatorRequest`` and
``FindCoordinatorRequest.json`` of release 2.8; KIP-98.
"""

from __future__ import annotations

import structlog

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.runtime.line_limit import LINES

_GROUP, _TRANSACTION = 0, 1
_NO_PORT = -1
_FLEXIBLE = 3

_NO_TRANSACTIONS = (
    "Transactions are not served by this cluster; no ACL changes that. Leave transactional.id out."
)

_log = structlog.get_logger(__name__)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Answer the coordinator's address, or COORDINATOR_NOT_AVAILABLE while there is none."""
    key_type = getattr(request.body, "key_type", _GROUP)
    if key_type == _TRANSACTION:
        return _refuse_transactions(request)
    if key_type != _GROUP:
        return _refused(request, ErrorCode.INVALID_REQUEST, f"Unknown coordinator type {key_type}")
    topic = context.groups.topic
    if not topic.exists:
        topic.create()
    leader = topic.leader(topic.partition_of(request.body.key))
    broker = None if leader is None else context.metadata.broker(leader)
    endpoint = None if broker is None else broker.endpoint(request.listener)
    if leader is None or endpoint is None:
        return _refused(request, ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
    return _answer(request, ErrorCode.NONE, None, leader, endpoint)


def _refuse_transactions(request: Request) -> Answer:
    """Answer, and log, that there are no transactions, by an error that the client shows and does not retry.

    librdkafka, which asks by versions up to 2, shows the message with the one error that it does not retry.
    With that error Java hides the message, and its own words send people to ACLs.
    """
    if LINES.allow("transactions are not served"):
        client = shortened(printable(str(request.client_id)))
        _log.warning(f"A transactional producer was refused (client id {client}): {_NO_TRANSACTIONS}")
    shows_message = request.version >= _FLEXIBLE
    authorization_failed = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
    error = ErrorCode.UNSUPPORTED_VERSION if shows_message else authorization_failed
    return _refused(request, error, _NO_TRANSACTIONS)


def _refused(request: Request, error: ErrorCode, message: str) -> Answer:
    return _answer(request, error, message, NO_LEADER, None)


def _answer(
    request: Request, error: ErrorCode, message: str | None, node: BrokerId, endpoint: Endpoint | None
) -> Answer:
    return request.answer(
        "FindCoordinatorResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        node_id=node,
        host="" if endpoint is None else endpoint.host,
        port=_NO_PORT if endpoint is None else endpoint.port,
    )
