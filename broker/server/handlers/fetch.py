"""Fetch (1): read what is committed, from the local leaders.

Fetch sessions are never granted (session id 0): clients then send whole requests, and an answer holds exactly
the partitions asked for, or Java throws all of it away. Sources: ``KafkaApis.handleFetchRequest``,
``FetchSession.scala`` of release 2.8; KIP-227.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from itertools import groupby

from broker.replicas.interface import Fetched, FetchPartition, FetchResults
from broker.server.context import Answer, ServerContext
from broker.wire.frames import NO_THROTTLE, Request, milliseconds
from cluster.model.epochs import UNKNOWN_LEADER_EPOCH
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition

NO_SESSION = 0
"""The session id that refuses a session."""

_WHOLE_REQUEST_EPOCHS = (-1, 0)
"""Session epochs of requests that name all their partitions: outside any session, or asking for a new one."""

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
    max_bytes = min(body.max_bytes, context.settings.fetch_max_bytes)
    results = context.reads.fetch(
        {
            TopicPartition(topic.topic, partition.partition): FetchPartition(
                offset=partition.fetch_offset,
                max_bytes=partition.partition_max_bytes,
                current_leader_epoch=getattr(partition, "current_leader_epoch", UNKNOWN_LEADER_EPOCH),
                last_fetched_epoch=getattr(partition, "last_fetched_epoch", UNKNOWN_LEADER_EPOCH),
                allow_zstd=request.version >= _ZSTD_SINCE,
            )
            for topic in body.topics
            for partition in topic.partitions
        },
        max_wait_ms=max(0, milliseconds(body.max_wait)),
        min_bytes=min(body.min_bytes, max_bytes),
        max_bytes=max_bytes,
    )
    return _answer(request, results.result()) if results.done() else _later(request, results)


async def _later(request: Request, results: asyncio.Future[FetchResults]) -> Answer:
    return _answer(request, await results)


def _answer(request: Request, results: FetchResults) -> Answer:
    """Each partition once, however often it was asked for: its records would not be bounded else."""
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
    return request.answer(
        "FetchResponse",
        throttle_time=NO_THROTTLE,
        error_code=ErrorCode.NONE,
        session_id=NO_SESSION,
        responses=tuple(topics),
    )


def _partition(request: Request, index: int, fetched: Fetched) -> Answer:
    error = fetched.error
    if error is ErrorCode.KAFKA_STORAGE_ERROR and request.version < _STORAGE_ERROR_SINCE:
        error = ErrorCode.NOT_LEADER_OR_FOLLOWER  # KIP-112: older clients do not know the other
    values = {
        "partition_index": index,
        "error_code": error,
        "high_watermark": fetched.high_watermark,
        "last_stable_offset": fetched.last_stable_offset,
        "log_start_offset": fetched.log_start_offset,
        "aborted_transactions": () if request.body.isolation_level == _READ_COMMITTED else None,
        "preferred_read_replica": _NO_REPLICA,
        "records": fetched.records,
    }
    diverging = fetched.diverging_epoch
    if diverging is not None and request.version >= _DIVERGING_EPOCH_SINCE:
        values["diverging_epoch"] = request.answer(
            "EpochEndOffset", epoch=diverging.epoch, end_offset=diverging.end_offset
        )
    return request.answer("PartitionData", **values)
