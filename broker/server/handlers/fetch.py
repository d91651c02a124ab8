"""Fetch (1): read committed records from the local leaders.

Fetch sessions are never granted (session id 0): clients then send whole requests, and an answer has exactly
the requested partitions; otherwise Java discards it. Sources: ``KafkaApis.handleFetchRequest``,
``FetchSession.scala`` of release 2.8; KIP-227.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Iterable
from itertools import groupby
from typing import Any

from barnabas.broker.replicas.interface import Fetched, FetchPartition, FetchResults
from barnabas.broker.replicas.turn import Turn, freed_in_turns, paced
from barnabas.broker.server.by_topic import by_topic
from barnabas.broker.server.context import Answer, ServerContext
from barnabas.broker.server.portions import LOCAL_PORTION, portions
from barnabas.broker.wire.frames import NO_THROTTLE, Body, Request, milliseconds
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

NO_SESSION = 0
"""The session id that refuses a session."""

_WHOLE_REQUEST_EPOCHS = (-1, 0)
"""Session epochs of requests that have all their partitions: outside any session, or requesting a new one."""

_STORAGE_ERROR_SINCE = 6
_ZSTD_SINCE = 10
_DIVERGING_EPOCH_SINCE = 12
_READ_COMMITTED = 1
_NO_REPLICA = -1


def handle(context: ServerContext, request: Request) -> Answer | Awaitable[Answer]:
    """Read now, or hold the answer until there is enough (long poll)."""
    body = request.body
    if getattr(body, "session_epoch", -1) not in _WHOLE_REQUEST_EPOCHS:
        return request.answer(
            "FetchResponse",
            throttle_time=NO_THROTTLE,
            error_code=ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
            session_id=NO_SESSION,
            responses=(),
        )
    asked = ((topic.topic, partition) for topic in body.topics for partition in topic.partitions)
    if sum(len(topic.partitions) for topic in body.topics) > LOCAL_PORTION:
        return _fetch_many(context, request, asked)
    max_bytes = min(body.max_bytes, context.settings.fetch_max_bytes)
    results = context.reads.fetch(
        {TopicPartition(name, each.partition): _wanted(request, each) for name, each in asked},
        max_wait_ms=max(0, milliseconds(body.max_wait)),
        min_bytes=min(body.min_bytes, max_bytes),
        max_bytes=max_bytes,
    )
    return _answer(request, results.result()) if results.done() else _later(request, results)


def _epoch(partition: Body, name: str) -> LeaderEpoch:
    """Return an epoch of the request; any negative number means none (``FetchRequest.optionalEpoch``)."""
    return LeaderEpoch(max(UNKNOWN_LEADER_EPOCH, getattr(partition, name, UNKNOWN_LEADER_EPOCH)))


async def _fetch_many(context: ServerContext, request: Request, asked: Iterable[tuple[str, Any]]) -> Answer:
    """Wait until there is enough, then read in portions."""
    body = request.body
    wanted = {
        TopicPartition(name, each.partition): _wanted(request, each) async for name, each in paced(asked)
    }
    left = min(body.max_bytes, context.settings.fetch_max_bytes)
    max_wait_ms = max(0, milliseconds(body.max_wait))
    await context.reads.wait(wanted, max_wait_ms=max_wait_ms, min_bytes=min(body.min_bytes, left))
    results: FetchResults = {}
    is_empty, turn = True, Turn()
    for portion in portions(wanted.items(), LOCAL_PORTION):
        some = context.reads.read(dict(portion), left, at_least_one=is_empty)
        read = sum(len(fetched.records) for fetched in some.values())
        left -= read
        is_empty = is_empty and not read
        results |= some
        await turn.yield_if_long()
    topics = []
    for name, of_topic in (await by_topic(results)).items():
        entities = [_partition(request, each.partition, results[each]) async for each in paced(of_topic)]
        topics.append(request.answer("FetchableTopicResponse", topic=name, partitions=tuple(entities)))
    await freed_in_turns(wanted, results)
    return _response(request, tuple(topics))


def _wanted(request: Request, partition: Any) -> FetchPartition:
    return FetchPartition(
        offset=partition.fetch_offset,
        max_bytes=partition.partition_max_bytes,
        current_leader_epoch=_epoch(partition, "current_leader_epoch"),
        last_fetched_epoch=_epoch(partition, "last_fetched_epoch"),
        allow_zstd=request.version >= _ZSTD_SINCE,
        read_committed=request.body.isolation_level == _READ_COMMITTED,
        replica_id=request.body.replica_id,
    )


async def _later(request: Request, results: asyncio.Future[FetchResults]) -> Answer:
    return _answer(request, await results)


def _answer(request: Request, results: FetchResults) -> Answer:
    """Return each partition once, however often it was requested, so that its records are bounded."""
    topics = [
        request.answer(
            "FetchableTopicResponse",
            topic=name,
            partitions=tuple(
                _partition(request, topic_partition.partition, fetched)
                for topic_partition, fetched in of_topic
            ),
        )
        for name, of_topic in groupby(results.items(), key=lambda result: result[0].topic)
    ]
    return _response(request, tuple(topics))


def _response(request: Request, topics: tuple[Answer, ...]) -> Answer:
    return request.answer(
        "FetchResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        session_id=NO_SESSION,
        responses=topics,
    )


def _partition(request: Request, index: int, fetched: Fetched) -> Answer:
    error = fetched.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # KIP-112: older clients do not know KAFKA_STORAGE_ERROR
    values = {
        "partition_index": index,
        "error_code": error,
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.last_stable_offset,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": _aborted(request, fetched),
        "preferred_read_replica": _NO_REPLICA,
        "records": fetched.records,
    }
    diverging = fetched.diverging_epoch
    if diverging is not None and request.version >= _DIVERGING_EPOCH_SINCE:
        values["diverging_epoch"] = request.answer(
            "EpochEndOffset", epoch=diverging.epoch, end_offset=diverging.end_offset
        )
    return request.answer("PartitionData", **values)


def _aborted(request: Request, fetched: Fetched) -> tuple[Answer, ...] | None:
    """Return the aborted transactions of the records, if the client requested them."""
    if request.body.isolation_level != _READ_COMMITTED:
        return None
    return tuple(
        request.answer("AbortedTransaction", producer_id=each.producer_id, first_offset=each.first_offset)
        for each in fetched.aborted_transactions
    )
