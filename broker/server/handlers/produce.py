"""Produce (0): append batches to the local leaders.

Sources: ``KafkaApis.handleProduceRequest`` and ``ProduceRequest.json`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from math import inf
from time import monotonic
from typing import Any

from barnabas.broker.replicas.interface import Appended, AppendResults, Bytes, Prepared
from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.server.context import Answer, CloseConnectionError, ServerContext
from barnabas.broker.server.portions import LOCAL_PORTION, portions_of
from barnabas.broker.wire.frames import NO_THROTTLE, Request, milliseconds
from barnabas.broker.wire.writing import Timestamp
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.turn import FEW, Turn, freed_in_turns

ADMIN_CLIENT_ID = "__admin_client"
"""The one client that may write to internal topics, which otherwise belong to the coordinators."""

_ZSTD_SINCE = 7
_STORAGE_ERROR_SINCE = 4
_RECORD_ERRORS_SINCE = 8
_NO_ACKS = 0

LEAST_TIMEOUT_MS = 1_000
"""The time in milliseconds that a client waits at least: with acks=1, some send a timeout of 0."""

_LATE = Appended(
    ErrorCode.REQUEST_TIMED_OUT,
    message="the request waited for longer than its timeout, so nothing was appended",
)


async def handle(context: ServerContext, request: Request) -> Answer:
    """Append, and answer as ``acks`` requests.

    Raises:
        CloseConnectionError: With acks=0 there is no other way to report an error; the client then requests
            fresh metadata.
    """
    acks = request.body.acks
    begun = await _append(context, request)
    if not all(each.done() for each in begun):
        # The records are written: neither they nor the later requests of the connection wait for the answer.
        request.progress.carried_out()
        request = request.without_body()
    results: AppendResults = {}
    for appended in begun:
        results |= await appended
    if acks == _NO_ACKS:
        _close_on_error(results)
        return None
    topics = await topic_answers(
        request,
        "TopicProduceResponse",
        results,
        lambda tp: _partition(request, tp.partition, results[tp]),
        listed="partition_responses",
    )
    if len(results) > LOCAL_PORTION:
        await freed_in_turns(begun, results)
    return request.answer("ProduceResponse", responses=topics, throttle_time=NO_THROTTLE)


async def _append(context: ServerContext, request: Request) -> list[asyncio.Future[AppendResults]]:
    """Append in portions; return the results of each, some of which wait for other brokers."""
    turn = Turn(few=FEW)
    batches: dict[TopicPartition, Bytes | None] = {}
    for topic in request.body.topic_data:
        for each in topic.partition_data:
            batches[TopicPartition(topic.name, each.index)] = each.records
            await turn.yield_if_long()
    if request.body.transactional_id is not None:
        refusal = Appended(ErrorCode.UNSUPPORTED_VERSION, message="transactions are not served")
        return [_refused(batches, refusal)]
    begun = []
    for portion in portions_of(batches, LOCAL_PORTION):
        begun.append(await _append_portion(context, request, portion))
        await turn.yield_if_long()
    if len(batches) > LOCAL_PORTION:
        await freed_in_turns(batches)
    return begun


async def _append_portion(
    context: ServerContext, request: Request, batches: Mapping[TopicPartition, Bytes | None]
) -> asyncio.Future[AppendResults]:
    """Append to a few partitions, unless the client has given the request up by then."""
    body, left_s = request.body, _time_left_s(request)
    if left_s <= 0:
        return _refused(batches, _LATE)
    prepared: Mapping[TopicPartition, Prepared] = batches
    preparing = context.appends.prepare(batches)
    if preparing is not None:
        work = asyncio.ensure_future(preparing)
        try:
            done, _ = await asyncio.wait((work,), timeout=None if left_s == inf else left_s)
        finally:
            work.cancel()
        if not done:
            return _refused(batches, _LATE)
        prepared = work.result()
    return context.appends.append(
        prepared,
        acks=body.acks,
        timeout_ms=milliseconds(body.timeout),
        allow_zstd=request.version >= _ZSTD_SINCE,
        allow_internal_topics=request.client_id == ADMIN_CLIENT_ID,
    )


def _refused(batches: Iterable[TopicPartition], refusal: Appended) -> asyncio.Future[AppendResults]:
    """Return the results of batches that are not appended."""
    results: asyncio.Future[AppendResults] = asyncio.get_running_loop().create_future()
    results.set_result(dict.fromkeys(batches, refusal))
    return results


def _time_left_s(request: Request) -> float:
    """Return the seconds until the client gives the request up, infinite if it waits for no answer.

    It then sends the records again. If the late request were appended, too, they would be there twice, unless
    the producer is idempotent.
    """
    if request.body.acks == _NO_ACKS:
        return inf
    timeout_ms = max(milliseconds(request.body.timeout), LEAST_TIMEOUT_MS)
    return request.sent_at + timeout_ms / 1000 - monotonic()


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
