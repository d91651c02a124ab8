"""FindCoordinator (10): this broker, as the coordinator of every group, although there are no groups.

A client that finds no coordinator waits for ever, and librdkafka's ``subscribe()`` reports nothing. With an
error as the answer, consumers that only assign partitions would get it, too, and take 45 s to close. So only
clients that join a group get an error (``join_group``). Sources: ``FindCoordinatorRequest.json`` of release
2.8; KIP-98.
"""

from __future__ import annotations

from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER

_TRANSACTION = 1
_NO_PORT = -1


def handle(context: ServerContext, request: Request) -> Answer:
    """Return this broker for a group; for a transactional id an error that no client retries."""
    broker = context.metadata.broker(context.broker_id)
    endpoint = None if broker is None else broker.endpoint(request.listener)
    error, message = ErrorCode.NONE, None
    if getattr(request.body, "key_type", 0) == _TRANSACTION:
        error, endpoint = ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, None
        message = "Transactions are not served."
    elif endpoint is None:
        error = ErrorCode.COORDINATOR_NOT_AVAILABLE
    return request.answer(
        "FindCoordinatorResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        error_message=message,
        node_id=NO_LEADER if endpoint is None else context.broker_id,
        host="" if endpoint is None else endpoint.host,
        port=_NO_PORT if endpoint is None else endpoint.port,
    )
