"""The gate of Produce: WRITE on each topic, and on the transactional id of transactional batches.

Source: ``KafkaApis.handleProduceRequest`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Awaitable, Iterator
from typing import Any

from barnabas.broker.server.access import Access, access_of, answered
from barnabas.broker.server.context import Answer, CloseConnectionError, Handler, Preparing, ServerContext
from barnabas.broker.server.gates.topics import PRODUCE
from barnabas.broker.server.portions import LOCAL_PORTION
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.turn import paced

_ATTRIBUTES = slice(21, 23)
"""The bytes of a batch's attributes."""

_TRANSACTIONAL = 0x10
_NO_ACKS = 0


def produce(
    context: ServerContext, request: Request, handler: Handler
) -> Answer | Awaitable[Answer] | Preparing:
    """Append to the allowed topics in the order of the connection's requests, and refuse the others."""
    access, body = access_of(context, request), request.body
    topics = body.topic_data
    if len(topics) > LOCAL_PORTION or sum(len(each.partition_data) for each in topics) > LOCAL_PORTION:
        return Preparing(_many(context, request, handler))
    is_transactional = body.transactional_id is not None or any(map(_is_transactional, _partitions(body)))
    if is_transactional and not _may_in_transactions(access, body):
        return _refused(request, None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    denied = access.denied_of_few(AclOperation.WRITE, ResourceType.TOPIC, PRODUCE.names_of(request))
    return Preparing(_some(context, request, handler, denied)) if denied else handler(context, request)


async def _many(context: ServerContext, request: Request, handler: Handler) -> Answer | Awaitable[Answer]:
    access, body = access_of(context, request), request.body
    is_transactional = body.transactional_id is not None
    async for each in paced(_partitions(body)):
        if is_transactional:
            break
        is_transactional = _is_transactional(each)
    if is_transactional and not _may_in_transactions(access, body):
        return _refused(request, None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    names = PRODUCE.names_of(request)
    denied = await access.denied(AclOperation.WRITE, ResourceType.TOPIC, names)
    if denied:
        return await _some(context, request, handler, denied)
    begun: Any = handler(context, request)
    return await begun.work if isinstance(begun, Preparing) else begun


async def _some(
    context: ServerContext, request: Request, handler: Handler, denied: frozenset[str]
) -> Answer | Awaitable[Answer]:
    """Append to the allowed topics, then add the refusals."""
    allowed = await PRODUCE.without(request, denied)
    refused = None if request.body.acks == _NO_ACKS else await PRODUCE.of(request, denied)
    begun: Any = handler(context, allowed)
    if isinstance(begun, Preparing):
        begun = await begun.work
    return _with_refused(begun, refused)


async def _with_refused(begun: Any, refused: tuple[Body, ...] | None) -> Answer:
    answer = await answered(begun)
    if refused is None:
        raise CloseConnectionError(
            "a produce request with acks=0 failed", error=ErrorCode.TOPIC_AUTHORIZATION_FAILED.name
        )
    return PRODUCE.more(answer, refused)


async def _refused(request: Request, topics: frozenset[str] | None, error: ErrorCode) -> Answer:
    if request.body.acks == _NO_ACKS:
        raise CloseConnectionError("a produce request with acks=0 failed", error=error.name)
    responses = await PRODUCE.of(request, topics, error)
    return request.answer("ProduceResponse", responses=responses, throttle_time=NO_THROTTLE)


def _partitions(body: Body) -> Iterator[Any]:
    return (each for topic in body.topic_data for each in topic.partition_data)


def _is_transactional(partition: Any) -> bool:
    """Return whether the batch of a partition is transactional, whatever the request's own fields say."""
    records = partition.records
    return records is not None and bool(int.from_bytes(bytes(records[_ATTRIBUTES])) & _TRANSACTIONAL)


def _may_in_transactions(access: Access, body: Body) -> bool:
    return body.transactional_id is not None and access.may(
        AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, body.transactional_id
    )
