"""The gate of Produce: WRITE on each topic, and on the transactional id of transactional batches.

Source: ``KafkaApis.handleProduceRequest`` of Kafka 2.8.
"""

from __future__ import annotations

from typing import Any

from barnabas.broker.server.access import Access, access_of
from barnabas.broker.server.context import Answer, CloseConnectionError, Handler, ServerContext
from barnabas.broker.server.gates.topics import PRODUCE
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

_ATTRIBUTES = slice(21, 23)
"""The bytes of a batch's attributes."""

_TRANSACTIONAL = 0x10
_NO_ACKS = 0


async def produce(context: ServerContext, request: Request, handler: Handler) -> Answer:
    """Append to the allowed topics in the order of the connection's requests, and refuse the others."""
    access = access_of(context, request)
    if await _is_refused_as_transactional(access, request.body):
        return await _all_refused(request, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    denied = await access.denied(AclOperation.WRITE, ResourceType.TOPIC, PRODUCE.names_of(request))
    needs_answer = request.body.acks != _NO_ACKS
    refused = await PRODUCE.of(request, denied) if denied and needs_answer else ()
    handling = handler(context, await PRODUCE.without(request, denied) if denied else request)
    del request  # the records are not needed while the handler waits for other brokers
    answer = await handling
    if denied and not needs_answer:
        raise _failed_without_acks(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    return PRODUCE.more(answer, refused) if denied else answer


async def _all_refused(request: Request, error: ErrorCode) -> Answer:
    if request.body.acks == _NO_ACKS:
        raise _failed_without_acks(error)
    responses = await PRODUCE.of(request, None, error)
    return request.answer("ProduceResponse", responses=responses, throttle_time=NO_THROTTLE)


def _failed_without_acks(error: ErrorCode) -> CloseConnectionError:
    return CloseConnectionError("a produce request with acks=0 failed", error=error.name)


async def _is_refused_as_transactional(access: Access, body: Body) -> bool:
    """Return whether any batch is transactional, and the client may not use the transactional id."""
    transactional_id = body.transactional_id
    if transactional_id is None:
        partitions = (each for topic in body.topic_data for each in topic.partition_data)
        return any([_is_transactional(each) async for each in paced(partitions)])
    return not access.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, transactional_id)


def _is_transactional(partition: Any) -> bool:
    """Return whether the batch of a partition is transactional, whatever the request's own fields say."""
    records = partition.records
    return records is not None and bool(int.from_bytes(bytes(records[_ATTRIBUTES])) & _TRANSACTIONAL)
