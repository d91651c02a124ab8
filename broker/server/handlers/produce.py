"""Produce (0): append batches to the local leaders.

Sources: ``KafkaApis.handleProduceRequest`` and ``ProduceRequest.json`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Collection, Iterable, Mapping
from itertools import groupby
from math import inf
from time import monotonic
from typing import Any

from barnabas.broker.replicas.interface import Appended, AppendResults, Prepared, Prepares
from barnabas.broker.server.by_topic import by_topic
from barnabas.broker.server.context import Answer, CloseConnectionError, Preparing, ServerContext
from barnabas.broker.server.portions import LOCAL_PORTION, portions
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.broker.wire.writing import Timestamp
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import Turn, freed_in_turns, paced

ADMIN_CLIENT_ID = "__admin_client"
"""The one client that may write to internal topics, which otherwise belong to the coordinators."""

_ZSTD_SINCE = 7
_STORAGE_ERROR_SINCE = 4
_RECORD_ERRORS_SINCE = 8
_NO_ACKS = 0

LEAST_TIMEOUT_MS = 1_000
"""The time in milliseconds that a client waits at least: with acks=1, some send a timeout of 0."""

_LATE = "the request waited for longer than its timeout, so nothing was appended"


def handle(context: ServerContext, request: Request) -> Answer | Awaitable[Answer] | Preparing:
    """Append now; answer as ``acks`` requests.

    Raises:
        CloseConnectionError: With acks=0 there is no other way to report an error; the client then requests
            fresh metadata.
    """
    body = request.body
    if body.transactional_id is not None:
        return _refused(request, ErrorCode.UNSUPPORTED_VERSION, "transactions are not served")
    asked = ((topic.name, each) for topic in body.topic_data for each in topic.partition_data)
    if sum(len(topic.partition_data) for topic in body.topic_data) > LOCAL_PORTION:
        return _append_many(context, request, asked)
    batches = {TopicPartition(name, each.index): each.records for name, each in asked}
    if _time_left_s(request) <= 0:
        return _refused(request, ErrorCode.REQUEST_TIMED_OUT, _LATE)
    preparing = context.appends.prepare(batches)
    if preparing is not None:
        return Preparing(_append_later(context, request, preparing))
    return _append(context, request, batches)


def _time_left_s(request: Request) -> float:
    """Return the seconds until the client gives the request up, infinite if it waits for no answer.

    It then sends the records again. If the late request were appended, too, they would be there twice, unless
    the producer is idempotent.
    """
    if request.body.acks == _NO_ACKS:
        return inf
    timeout_ms = max(milliseconds(request.body.timeout), LEAST_TIMEOUT_MS)
    return request.sent_at + timeout_ms / 1000 - monotonic()


async def _prepared(request: Request, preparing: Prepares) -> Mapping[TopicPartition, Prepared] | None:
    """Wait until the batches are recompressed; return None if the client has given the request up by then."""
    left_s = _time_left_s(request)
    try:
        async with asyncio.timeout(None if left_s == inf else left_s):
            return await preparing
    except TimeoutError:
        return None


async def _append_later(
    context: ServerContext, request: Request, preparing: Prepares
) -> Answer | Awaitable[Answer]:
    prepared = await _prepared(request, preparing)
    if prepared is None:
        return _refused(request, ErrorCode.REQUEST_TIMED_OUT, _LATE)
    return _append(context, request, prepared)


def _append(
    context: ServerContext, request: Request, batches: Mapping[TopicPartition, Prepared]
) -> Answer | Awaitable[Answer]:
    results = _begin(context, request, batches)
    if request.body.acks == _NO_ACKS:
        _close_on_error(results.result())
        return None
    return _answer(request, results.result()) if results.done() else _later(request.without_body(), results)


def _begin(
    context: ServerContext, request: Request, batches: Mapping[TopicPartition, Prepared]
) -> asyncio.Future[AppendResults]:
    return context.appends.append(
        batches,
        acks=request.body.acks,
        timeout_ms=milliseconds(request.body.timeout),
        allow_zstd=request.version >= _ZSTD_SINCE,
        allow_internal_topics=request.client_id == ADMIN_CLIENT_ID,
    )


async def _append_many(context: ServerContext, request: Request, asked: Iterable[tuple[str, Any]]) -> Answer:
    """Append in portions; the connection starts no other request until then, as this one's frame is long."""
    batches = {TopicPartition(name, each.index): each.records async for name, each in paced(asked)}
    begun, turn = [], Turn()
    for portion in portions(batches.items(), LOCAL_PORTION):
        some = dict(portion)
        preparing = context.appends.prepare(some)
        prepared = some if preparing is None else await _prepared(request, preparing)
        begun.append(_timed_out(some) if prepared is None else _begin(context, request, prepared))
        await turn.yield_if_long()
    results: AppendResults = {}
    for appended in begun:
        results |= await appended
    if request.body.acks == _NO_ACKS:
        _close_on_error(results)
        return None
    topics = []
    for name, of_topic in (await by_topic(results)).items():
        entities = [_partition(request, each.partition, results[each]) async for each in paced(of_topic)]
        topics.append(request.answer("TopicProduceResponse", name=name, partition_responses=tuple(entities)))
    await freed_in_turns(batches, begun, results)
    return request.answer("ProduceResponse", responses=tuple(topics), throttle_time=NO_THROTTLE)


def _timed_out(batches: Collection[TopicPartition]) -> asyncio.Future[AppendResults]:
    """Return the results of batches that were not prepared in time."""
    results: asyncio.Future[AppendResults] = asyncio.get_running_loop().create_future()
    results.set_result(dict.fromkeys(batches, Appended(ErrorCode.REQUEST_TIMED_OUT, message=_LATE)))
    return results


async def _later(request: Request, results: asyncio.Future[AppendResults]) -> Answer:
    """Wait without holding the records, which are written."""
    return _answer(request, await results)


def _refused(request: Request, error: ErrorCode, message: str) -> Answer:
    """Return the same error for every partition of the request."""
    appended = Appended(error, message=message)
    return _answer(
        request,
        {
            TopicPartition(topic.name, partition.index): appended
            for topic in request.body.topic_data
            for partition in topic.partition_data
        },
    )


def _answer(request: Request, results: AppendResults) -> Answer:
    topics = [
        request.answer(
            "TopicProduceResponse",
            name=name,
            partition_responses=tuple(
                _partition(request, topic_partition.partition, appended)
                for topic_partition, appended in of_topic
            ),
        )
        for name, of_topic in groupby(results.items(), key=lambda result: result[0].topic)
    ]
    return request.answer("ProduceResponse", responses=tuple(topics), throttle_time=NO_THROTTLE)


def _close_on_error(results: AppendResults) -> None:
    for topic_partition, appended in results.items():
        if appended.error is not ErrorCode.NONE:
            raise CloseConnectionError(
                "a produce request with acks=0 failed",
                partition=str(topic_partition),
                error=appended.error.name,
            )


def _partition(request: Request, index: int, appended: Appended) -> Answer:
    error = appended.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # KIP-112: older clients do not know KAFKA_STORAGE_ERROR
    values: dict[str, Any] = {
        "index": index,
        "error_code": error,
        "base_offset": appended.base_offset,
        "log_append_time": Timestamp(appended.log_append_time),
        "log_start_offset": appended.log_start_offset,
    }
    if request.version >= _RECORD_ERRORS_SINCE:
        values["record_errors"] = tuple(
            request.answer(
                "BatchIndexAndErrorMessage", batch_index=fault.index, batch_index_error_message=fault.message
            )
            for fault in appended.record_faults
        )
        values["error_message"] = appended.message
    return request.answer("PartitionProduceResponse", **values)
