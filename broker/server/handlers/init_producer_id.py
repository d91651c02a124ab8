"""InitProducerId (22): an id for an idempotent producer (KIP-98, KIP-360).

Without a transactional id any broker returns the next id of its block, always with epoch 0: such a producer
raises its epoch itself.
"""

from __future__ import annotations

from barnabas.broker.core.records.record_batch import NO_PRODUCER_ID
from barnabas.broker.replicas.producer_ids import ProducerIdsUnavailableError
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.wire.frames import NO_THROTTLE, Request
from barnabas.cluster.model.errors import ErrorCode

_FIRST_EPOCH = 0
_NO_EPOCH = -1


async def handle(context: ServerContext, request: Request) -> Answer:
    """Return the next producer id, or an error."""
    body = request.body
    given_id = getattr(body, "producer_id", NO_PRODUCER_ID)
    given_epoch = getattr(body, "producer_epoch", _NO_EPOCH)
    if body.transactional_id == "" or (given_id == NO_PRODUCER_ID) != (given_epoch == _NO_EPOCH):
        return _answer(request, ErrorCode.INVALID_REQUEST)
    if body.transactional_id is not None:
        # The APIs of transactions are not announced; this client has ignored that.
        return _answer(request, ErrorCode.UNSUPPORTED_VERSION)
    try:
        return _answer(request, ErrorCode.NONE, await context.producer_ids.next_id(), _FIRST_EPOCH)
    except ProducerIdsUnavailableError:
        return _answer(request, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)


def _answer(
    request: Request,
    error: ErrorCode,
    producer_id: int = NO_PRODUCER_ID,
    epoch: int = _NO_EPOCH,
) -> Answer:
    return request.answer(
        "InitProducerIdResponse",
        throttle_time=NO_THROTTLE,
        error_code=error,
        producer_id=producer_id,
        producer_epoch=epoch,
    )
