"""The moves of replicas between the log directories of this broker.

A future log is created by AlterReplicaLogDirs, or found by the start of the broker. It copies the current log
in small parts, which are read on the directory's thread, and takes its place once both end at one offset.

Source: ``ReplicaAlterLogDirsManager``, ``ReplicaAlterLogDirsThread`` of Kafka 2.8; KIP-113.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

import structlog

from barnabas.broker.core.records.log_config import UNLIMITED
from barnabas.broker.core.records.refusals import Refusal
from barnabas.broker.core.replication.follower_fetch import StartOver, Truncate
from barnabas.broker.core.replication.leader_epochs import UNDEFINED_EPOCH_END
from barnabas.broker.core.replication.log_dir_moves import (
    CaughtUp,
    Copy,
    LogRange,
    MoveStep,
    RaiseStart,
    next_step,
)
from barnabas.broker.disk.directory.log_dirs import LogDirs
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.log.results import OffsetOutOfRange
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.runtime.turn import Turn

T = TypeVar("T")

_log = structlog.get_logger("kafka.server.ReplicaAlterLogDirsThread")

PART_BYTES = 128 * 1024
"""The bytes copied at a time: more would occupy the event loop for too long if batches are short."""

MOST_FLUSHES = 3
"""The flushes after which the rest is flushed on the event loop, because the log grows too fast otherwise."""


class _NothingToCopyError(Exception):
    """The current log has no valid records where some should be."""


@dataclass(slots=True)
class _Move:
    """A move in progress.

    Attributes:
        partition: The partition.
        current: Its log.
        future: The log that will replace it.
        flushes: How often the future log was flushed when it had caught up.
    """

    partition: HostedPartition
    current: Log
    future: Log
    flushes: int = 0


class LogDirMover:
    """Copies future logs, and replaces current logs by them.

    Args:
        hosted: The partitions.
        logs: Their log directories.
        threads: How many replicas are moved at a time.
    """

    def __init__(self, hosted: HostedPartitions, logs: LogDirs, threads: int) -> None:
        self._hosted = hosted
        self._logs = logs
        self._threads = threads
        self._moving: set[TopicPartition] = set()
        self._backing_off: dict[TopicPartition, asyncio.TimerHandle] = {}
        self._wake = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self, supervisor: Supervisor) -> None:
        """Begin to move replicas."""
        self._tasks = [
            supervisor.spawn(f"ReplicaAlterLogDirsThread-{number}", self._move_all())
            for number in range(self._threads)
        ]

    def wake(self) -> None:
        """Note that there may be a replica to move."""
        self._wake.set()

    async def close(self) -> None:
        """Stop all moves; the next start of the broker continues them."""
        for handle in self._backing_off.values():
            handle.cancel()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def max_lag(self) -> int:
        """The largest number of offsets that a future log lags behind its current log."""
        futures = self._logs.futures.all
        pairs = ((self._hosted.get(tp), future) for tp, future in futures.items())
        lags = (each.log.log_end_offset - future.log_end_offset for each, future in pairs if each is not None)
        return max(lags, default=0)

    async def _move_all(self) -> None:
        while True:
            topic_partition = self._next()
            if topic_partition is None:
                self._wake.clear()
                await self._wake.wait()
                continue
            self._moving.add(topic_partition)
            try:
                await self._move(topic_partition)
            except KafkaStorageError as error:
                self._hosted.disk_failed(error)
                self._back_off(topic_partition)
            except CorruptLogError as error:
                partition = self._hosted.get(topic_partition)
                if partition is not None:
                    self._hosted.on_corrupt(partition, error)
                self._back_off(topic_partition)
            except _NothingToCopyError as error:
                _log.error(f"The move of {topic_partition} pauses: {error}")
                self._back_off(topic_partition)
            finally:
                self._moving.discard(topic_partition)

    def _next(self) -> TopicPartition | None:
        """Return the first replica to move that no other task moves."""
        waiting = (
            tp
            for tp in self._logs.futures.all
            if tp not in self._moving and tp not in self._backing_off and self._hosted.get(tp) is not None
        )
        return min(waiting, default=None)

    def _back_off(self, topic_partition: TopicPartition) -> None:
        delay_s = self._hosted.settings.fetch_backoff_ms / 1000
        loop = asyncio.get_running_loop()
        self._backing_off[topic_partition] = loop.call_later(delay_s, self._try_again, topic_partition)

    def _try_again(self, topic_partition: TopicPartition) -> None:
        del self._backing_off[topic_partition]
        self.wake()

    async def _move(self, topic_partition: TopicPartition) -> None:
        """Copy a future log until it replaces the current one, or is gone.

        Raises:
            KafkaStorageError: A disk refused.
            CorruptLogError: The current log is damaged.
            _NothingToCopyError: It does not have what its end offset promises.
        """
        turn, move = Turn(), None
        while True:
            await turn.yield_if_long()
            partition, future = self._hosted.get(topic_partition), self._logs.futures.get(topic_partition)
            if partition is None or future is None:
                return
            if move is None or not self._is_current(move):
                move = _Move(partition, partition.log, future)
            try:
                if await self._advance(move):
                    return
            except KafkaStorageError:
                if self._is_current(move):
                    raise  # otherwise a log was closed, because it was deleted or replaced

    def _is_current(self, move: _Move) -> bool:
        """Return whether the partition still has the current and the future log that the move began with."""
        topic_partition = move.partition.topic_partition
        return (
            self._hosted.get(topic_partition) is move.partition
            and move.partition.log is move.current
            and self._logs.futures.get(topic_partition) is move.future
        )

    async def _advance(self, move: _Move) -> bool:
        """Take one step; return whether it was the last."""
        partition, current, future = move.partition, move.current, move.future
        future.config = current.config
        if future.topic is None and current.topic is not None:
            future.identify(current.topic)
        match _step(current, future):
            case StartOver(offset):
                future.truncate_fully_and_start_at(offset)
            case Truncate(offset):
                future.truncate_to(offset)
            case RaiseStart(offset):
                future.raise_log_start(offset)
                future.delete_old_segments(partition.replica.high_watermark)
            case Copy(offset):
                await self._copy(move, offset)
            case CaughtUp() if move.flushes and _may_swap(move):
                self._swap(move)
                return True
            case CaughtUp():
                topic_partition, high_watermark = partition.topic_partition, partition.replica.high_watermark
                prepared = self._logs.futures.prepare(topic_partition, high_watermark)
                await _done(prepared, future, "flushing")
                move.flushes += 1
        return False

    async def _copy(self, move: _Move, offset: Offset) -> None:
        """Copy one part, at most at the rate of the throttle.

        The last part, when the future log is flushed, is read on the event loop, so that nothing is appended
        before the swap. It was written just now.
        """
        quota, now_ms = self._hosted.throttles.log_dirs, monotonic_ms()
        if quota.is_exceeded(now_ms):
            await asyncio.sleep(quota.wait_ms(now_ms) / 1000)
            return
        current, future = move.current, move.future
        end = current.log_end_offset
        found = current.find(offset, PART_BYTES, end)
        if isinstance(found, OffsetOutOfRange):
            return
        records = found.records
        if not isinstance(records, bytes):
            if move.flushes and current.bytes_between(offset, end) <= PART_BYTES:
                read = current.read(offset, PART_BYTES, end)
                records = b"" if isinstance(read, OffsetOutOfRange) else read.records
            else:
                reading = current.on_disk_thread(partial(bytes, records))
                records = await _done(reading, current, "reading")
                if not self._is_current(move) or _step(current, future) != Copy(offset):
                    return
        info = future.append_as_follower(records, Offset(UNLIMITED)) if records else None
        if info is None or isinstance(info, Refusal) or not info.size:
            raise _NothingToCopyError(f"{current.directory} at offset {offset}: {info or 'no records'}")
        quota.rate.record(info.size, monotonic_ms())

    def _swap(self, move: _Move) -> None:
        """Replace the current log by the future log."""
        partition, current, future = move.partition, move.current, move.future
        topic_partition, former = partition.topic_partition, current.directory.parent
        if current.latest_epoch is not None and current.latest_epoch != future.latest_epoch:
            future.assign_epoch_start(current.latest_epoch)  # of a leader that has appended nothing yet
        future.forget_replicated(partition.replica.high_watermark)
        future.compaction.note_gaps(current.compaction.gaps_end)
        partition.log = self._logs.replace_with_future(topic_partition)
        _log.info(
            f"The current replica is successfully replaced with the future replica for {topic_partition}",
            former=str(former),
            directory=str(future.directory.parent),
        )
        failure = self._logs.offline.get(former)
        if failure is not None:
            self._hosted.disk_failed(failure)


def _step(current: Log, future: Log) -> MoveStep:
    epoch = future.latest_epoch
    theirs = UNDEFINED_EPOCH_END if epoch is None else current.end_offset_for(epoch)
    return next_step(
        LogRange(current.log_start_offset, current.log_end_offset),
        LogRange(future.log_start_offset, future.log_end_offset),
        epoch,
        theirs,
        future.end_offset_for(theirs.epoch),
    )


def _may_swap(move: _Move) -> bool:
    """Return whether the future log is flushed as far as the current one is, and its thread is idle."""
    current, future = move.current, move.future
    if future.relocation.is_flushing:
        return False
    if future.recovery_point < current.recovery_point:
        if move.flushes < MOST_FLUSHES:
            return False
        future.flush()
    return True


async def _done(future: Future[T], log: Log, doing: str) -> T:
    """Wait for work on a directory's thread, which goes on if the caller is cancelled.

    Raises:
        KafkaStorageError: The disk refused.
    """
    try:
        return await asyncio.shield(asyncio.wrap_future(future))
    except OSError as error:
        raise log.storage_error(doing, error) from error
