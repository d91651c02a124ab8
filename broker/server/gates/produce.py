"""The gate of Produce: WRITE on each topic, and on the transactional id of transactional batches.

Source: ``KafkaApis.handleProduceRequest`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Awaitable
from typing import Any

from barnabas.broker.server.access import access_of, answered
from barnabas.broker.server.context import Answer, CloseConnectionError, Handler, Preparing, ServerContext
from barnabas.broker.server.gates.topics import PRODUCE
from barnabas.broker.server.portions import LOCAL_PORTION
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request
from barnabas.cluster.model.acls import AclOperation, ResourceType
from barnabas.cluster.model.errors import ErrorCode

_ATTRIBUTES = slice(21, 23)
"""The bytes of a batch's attributes."""

_TRANSACTIONAL = 0x10
_NO_ACKS = 0


def produce(
    context: ServerContext, request: Request, handler: Handler
) -> Answer | Awaitable[Answer] | Preparing:
    """Append to the allowed topics in the order of the connection's requests, and refuse the others."""
    access, body = access_of(context, request), request.body
    if _is_transactional(body) and not (
        body.transactional_id is not None
        and access.may(AclOperation.WRITE, ResourceType.TRANSACTIONAL_ID, body.transactional_id)
    ):
        return _refused(request, None, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    if sum(len(topic.partition_data) for topic in body.topic_data) > LOCAL_PORTION:
        return Preparing(_many(context, request, handler))
    denied = access.denied_of_few(AclOperation.WRITE, ResourceType.TOPIC, PRODUCE.names_of(request))
    return Preparing(_some(context, request, handler, denied)) if denied else handler(context, request)


async def _many(context: ServerContext, request: Request, handler: Handler) -> Answer | Awaitable[Answer]:
    names = PRODUCE.names_of(request)
    denied = await access_of(context, request).denied(AclOperation.WRITE, ResourceType.TOPIC, names)
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


def _is_transactional(body: Body) -> bool:
    """Return whether a batch of the request is transactional, whatever the request's own fields say."""
    return body.transactional_id is not None or any(
        each.records is not None and bool(int.from_bytes(bytes(each.records[_ATTRIBUTES])) & _TRANSACTIONAL)
        for topic in body.topic_data
        for each in topic.partition_data
    )
