"""FindCoordinator (10): the leader of a group's partition of ``__consumer_offsets``.

The topic is created when somebody asks for the first time. There are no transactions: a transactional id gets
an error that no client retries. Sources: ``KafkaApis.handleFindCoordinatorRequest`` and
``FindCoordinatorRequest.json`` of release 2.8; KIP-98.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId

_GROUP, _TRANSACTION = 0, 1
_NO_PORT = -1


def handle(context: ServerContext, request: Request) -> Answer:
    """Answer the coordinator's address, or COORDINATOR_NOT_AVAILABLE while there is none."""
    key_type = getattr(request.body, "key_type", _GROUP)
    if key_type == _TRANSACTION:
        error = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        return _refused(request, error, "Transactions are not served.")
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
