"""The transfer of a damaged segment's offsets from another replica."""

from __future__ import annotations

import asyncio
import time
from functools import partial
from typing import cast

import grpc
import grpc.aio

from barnabas.broker.core.refusals import Refusal
from barnabas.broker.disk.replacement import SegmentReplacement
from barnabas.broker.disk.scrub import SegmentSpan
from barnabas.broker.disk.segment import LogSegment
from barnabas.broker.replicas.hosted import HostedPartition
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.channels import open_channel

READ_RANGE_METHOD = "/barnabas.replication.Replication/ReadRange"
"""The path of the gRPC method, as in ``proto/replication.proto``."""

PIECE_BYTES = 1024 * 1024
"""The bytes requested at once."""

CALL_TIMEOUT_S = 10.0
"""The time in seconds that the other replica has for one piece."""


class RangeUnavailableError(Exception):
    """An error of the other replica, which cannot send the offsets now; nothing was changed.

    Attributes:
        is_damaged: Whether the other replica cannot read the offsets from its own disk, either.
    """

    def __init__(self, message: str, *, is_damaged: bool = False) -> None:
        super().__init__(message)
        self.is_damaged = is_damaged


async def fetch_again(
    partition: HostedPartition, span: SegmentSpan, source: Endpoint, session_timeout_ms: int
) -> None:
    """Fetch the offsets of ``span`` and replace its segment once all are here.

    Args:
        partition: The damaged replica.
        span: One of its segments that is not active; below the high watermark.
        source: The gRPC endpoint of another replica.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, from which the keepalive follows.

    Raises:
        RangeUnavailableError: The other replica cannot send them.
        KafkaStorageError: The disk refused.
    """
    log = partition.log
    replacement = SegmentReplacement(log.directory, span, log.config, time.time_ns() // 1_000_000)
    try:
        try:
            new = await _fetch(partition, replacement, source, session_timeout_ms)
            if replacement.has_gaps:
                log.compaction.note_gaps(span.end_offset)
            if not log.replace_segment(span, new):
                raise RangeUnavailableError("the log has changed in the meantime")
        except BaseException:
            await asyncio.wrap_future(log.on_disk_thread(replacement.discard))
            raise
    except OSError as error:
        raise log.storage_error("fetching a damaged segment again", error) from error


async def _fetch(
    partition: HostedPartition, replacement: SegmentReplacement, source: Endpoint, session_timeout_ms: int
) -> LogSegment:
    log, (topic, number) = partition.log, partition.topic_partition
    async with open_channel(source.host, source.port, session_timeout_ms) as channel:
        call = channel.unary_unary(
            READ_RANGE_METHOD,
            request_serializer=pb.ReadRangeRequest.SerializeToString,
            response_deserializer=pb.ReadRangeResponse.FromString,
        )
        while not replacement.is_whole:
            request = pb.ReadRangeRequest(
                topic=topic,
                partition=number,
                current_leader_epoch=partition.replica.leader_epoch,
                offset=replacement.next_offset,
                max_bytes=PIECE_BYTES,
            )
            try:
                answer = cast("pb.ReadRangeResponse", await call(request, timeout=CALL_TIMEOUT_S))
            except grpc.aio.AioRpcError as error:
                raise RangeUnavailableError(f"{error.code().name} {error.details()}") from error
            wanted = f"offset {replacement.next_offset}"
            if answer.error_code:
                code = ErrorCode.from_code(answer.error_code)
                is_damaged = code in (ErrorCode.CORRUPT_MESSAGE, ErrorCode.KAFKA_STORAGE_ERROR)
                raise RangeUnavailableError(f"{wanted}: {code.name}", is_damaged=is_damaged)
            if not answer.records:
                raise RangeUnavailableError(f"{wanted} is not committed there yet")
            gaps_end = answer.gaps_end if answer.HasField("gaps_end") else None
            add = partial(replacement.add, answer.records, gaps_end)
            refusal = await asyncio.wrap_future(log.on_disk_thread(add))
            if isinstance(refusal, Refusal):
                raise RangeUnavailableError(f"{wanted}: {refusal}", is_damaged=True)
    return await asyncio.wrap_future(log.on_disk_thread(replacement.finish))
