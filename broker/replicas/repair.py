"""The transfer of a damaged segment's offsets from another replica."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import cast

import grpc
import grpc.aio

from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.segment.replacement import SegmentReplacement
from barnabas.broker.disk.segment.scrub import SegmentSpan
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.broker.replicas.hosted import HostedPartition
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset
from barnabas.cluster.rpc import replication_pb2 as pb
from barnabas.cluster.rpc.channels import open_channel
from barnabas.cluster.runtime.wall_clock import wall_ms

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


def spans_to_fetch(log: Log, span: SegmentSpan) -> list[SegmentSpan]:
    """Return the segments that are fetched for a damaged one: it and those after it that may have gaps.

    The other replica may have been compacted less. It has records then whose keys have a later tombstone, and
    here the tombstone may have gone already. The other replica still has it, because it drops no tombstone
    before what it deletes: both come together.
    """
    after = [each for each in log.spans() if span.base_offset < each.base_offset < log.compaction.gaps_end]
    return [span, *after]


async def fetch_again(
    partition: HostedPartition,
    span: SegmentSpan,
    first_dirty: Offset,
    dirty_from: Callable[[Offset], Awaitable[None]],
    *,
    source: Endpoint,
    session_timeout_ms: int,
) -> Offset:
    """Fetch the offsets of a damaged segment, and replace it and its neighbours as compaction requires.

    A. The segments after it that may lack tombstones (``spans_to_fetch``) are replaced first, the last one
       first: at every moment the records behind a replaced segment are those of the same replica.
    B. If the other replica has dropped records from ``first_dirty`` on, tombstones may be among them, whose
       former values are still here: the segments before the damaged one are replaced, too.
    C. The damaged segment is replaced at last, so that damage remains to be found until all of this is done.

    The log is dirty from the first replaced offset on before anything is replaced: after a crash in between,
    the log cleaner would take less compacted segments for clean ones, and drop their tombstones too early.

    Args:
        partition: The damaged replica.
        span: One of its segments; all of ``spans_to_fetch`` are sealed, and below the high watermark.
        first_dirty: The offset up to which this replica was compacted.
        dirty_from: Makes sure that the dirty section on the disk begins at an offset or before.
        source: The gRPC endpoint of another replica.
        session_timeout_ms: ``zookeeper.session.timeout.ms``, from which the keepalive follows.

    Returns:
        The first offset of what was replaced.

    Raises:
        RangeUnavailableError: The other replica cannot send them.
        KafkaStorageError: The disk refused.
    """
    log, done, missing_end = partition.log, 0, Offset(0)
    before = [each for each in log.spans() if log.log_start_offset < each.end_offset <= span.base_offset]
    _, *after = spans_to_fetch(log, span)
    fetch = partial(_replacement, partition, source=source, session_timeout_ms=session_timeout_ms)
    try:
        for each in reversed(after):
            async with fetch(each) as (replacement, new):
                missing_end = max(missing_end, replacement.missing_end)
                await dirty_from(span.base_offset)
                _replace(log, each, new, done)
                done += 1
        async with fetch(span) as (replacement, new):
            if max(missing_end, replacement.missing_end) <= first_dirty:
                before = []
            await dirty_from((before or [span])[0].base_offset)
            for each in reversed(before):
                async with fetch(each) as (_, former):
                    _replace(log, each, former, done)
                    done += 1
            _replace(log, span, new, done)
    except OSError as error:
        raise log.storage_error("fetching a damaged segment again", error) from error
    return before[0].base_offset if before else span.base_offset


def _replace(log: Log, span: SegmentSpan, new: LogSegment, done: int) -> None:
    """Replace the segment of ``span``, after ``done`` others, each of which has raised the log's generation.

    Raises:
        RangeUnavailableError: The log was changed by others.
    """
    if not log.replace_segment(span._replace(generation=span.generation + done), new):
        raise RangeUnavailableError("the log has changed in the meantime")


@contextlib.asynccontextmanager
async def _replacement(
    partition: HostedPartition, span: SegmentSpan, source: Endpoint, session_timeout_ms: int
) -> AsyncIterator[tuple[SegmentReplacement, LogSegment]]:
    """Fetch the offsets of ``span``; an error in the context removes the files.

    Raises:
        RangeUnavailableError: The other replica cannot send them.
        OSError: The disk refused.
    """
    log = partition.log
    replacement = SegmentReplacement(log.directory, span, log.config, wall_ms())
    try:
        new = await _fetch(partition, replacement, source, session_timeout_ms)
        if replacement.missing_end:
            log.compaction.note_gaps(replacement.missing_end)
        yield replacement, new
    except BaseException:
        await asyncio.wrap_future(log.on_disk_thread(replacement.discard))
        raise


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
