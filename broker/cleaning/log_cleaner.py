"""The log cleaner's threads, which are tasks of the event loop.

Each of ``log.cleaner.threads`` takes the filthiest log, lets a process do the file work, and replaces the
segments on the event loop. A log keeps its segments if it is truncated, deleted or repaired meanwhile, or no
longer compacted. A damaged log waits until it changes. A log whose cleaning ended with its process, or never
began because there was none, is tried again later.

Source: ``LogCleaner.scala`` and ``LogCleanerManager.scala`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple, TypeVar

import structlog

from barnabas.broker.cleaning.core.choice import LogToClean, dirty_section, filthiest, log_to_clean
from barnabas.broker.cleaning.core.throttle import Throttle
from barnabas.broker.cleaning.job import CleanerMemory, facts_of, plan
from barnabas.broker.cleaning.metrics import CleanerFigures
from barnabas.broker.cleaning.process import CleanerProcess
from barnabas.broker.cleaning.report import beginning, described, statistics
from barnabas.broker.cleaning.rewrite import Cleaned, CleaningStats, NewSegment, Progress, remove_cleaned
from barnabas.broker.cleaning.worker import CleanerUnavailableError
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.records import CorruptRecordsError
from barnabas.broker.disk.errors import CorruptLogError, KafkaStorageError, NoDescriptorError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.broker.replicas.retention import LogRetention
from barnabas.cluster.model.configs.settings import setting
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.runtime.turn import Turn
from barnabas.cluster.runtime.wall_clock import wall_ms

T = TypeVar("T")

_log = structlog.get_logger("kafka.log.LogCleaner")
_manager_log = structlog.get_logger("kafka.log.LogCleanerManager")

MAX_MAP_BYTES = 2**31 - 1
"""The most memory that one offset map has."""

MIN_BUFFER_BYTES = 64 * 1024
"""The least that is read at once, however small ``log.cleaner.io.buffer.size`` is."""


RETRY_MS = 1_000
MAX_RETRY_MS = 600_000
"""The bounds of the pause in milliseconds before another try with a log; it doubles with each failure."""


@dataclass(frozen=True, slots=True)
class CleanerSettings:
    """The settings of the log cleaner; times in milliseconds, sizes in bytes."""

    threads: int = setting("log.cleaner.threads")
    dedupe_buffer_size: int = setting("log.cleaner.dedupe.buffer.size")
    load_factor: float = setting("log.cleaner.io.buffer.load.factor")
    io_buffer_size: int = setting("log.cleaner.io.buffer.size")
    io_max_bytes_per_s: float = setting("log.cleaner.io.max.bytes.per.second")
    backoff_ms: int = setting("log.cleaner.backoff.ms")

    @property
    def memory(self) -> CleanerMemory:
        """The resources that each of the threads may use."""
        buffer_bytes = max(MIN_BUFFER_BYTES, self.io_buffer_size // self.threads // 2)
        map_bytes = min(self.dedupe_buffer_size // self.threads, MAX_MAP_BYTES)
        return CleanerMemory(map_bytes, self.load_factor, buffer_bytes)


class _Aborted(Exception):
    """An error if the log has changed since its cleaning began."""


class _Failure(NamedTuple):
    """A failed cleaning; the log is not cleaned again until it changes, or the time has come.

    Attributes:
        log: The log.
        generation: Its generation.
        until_ms: The time of the next try, by the monotonic clock; None if only a change can help.
        in_a_row: How many tries have failed in a row.
    """

    log: Log
    generation: int
    until_ms: int | None
    in_a_row: int


@dataclass(slots=True)
class _Cleaning:
    """A cleaning of one log.

    Attributes:
        partition: The partition.
        log: The log.
        due: The dirty section.
        generation: The log's generation after the last change by this cleaning.
    """

    partition: HostedPartition
    log: Log
    due: LogToClean
    generation: int


class LogCleaner:
    """The log cleaner of this broker.

    Args:
        hosted: The partitions.
        settings: Returns the settings in force.
        new_cleaner: Creates the executor of the file work of one thread.
        clock_ms: Returns the milliseconds since 1970.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        settings: Callable[[], CleanerSettings],
        new_cleaner: Callable[[], CleanerProcess] = CleanerProcess,
        *,
        clock_ms: Callable[[], int] = wall_ms,
    ) -> None:
        self._hosted = hosted
        self._logs = hosted.logs
        self._retention = LogRetention(hosted)
        self._settings = settings
        self._new_cleaner = new_cleaner
        self._clock_ms = clock_ms
        self._throttle = Throttle(time.monotonic())
        self._in_progress: set[TopicPartition] = set()
        self._failures: dict[TopicPartition, _Failure] = {}
        self._last_stats: dict[int, CleaningStats] = {}
        self._dirtiest_ratio = 0.0
        self._max_delay_ms = 0
        self._last_run_ms = clock_ms()
        self._dead_threads = 0
        self._moved_bytes = 0
        self._threads: dict[int, asyncio.Task[None]] = {}

    async def run(self, supervisor: Supervisor) -> None:
        """Keep ``log.cleaner.threads`` cleaner threads running until cancelled."""
        _log.info("Starting the log cleaner")
        while True:
            for number in range(self._settings().threads):
                if number not in self._threads:
                    name = f"kafka-log-cleaner-thread-{number}"
                    self._threads[number] = supervisor.spawn(name, self._clean_all(number), self._died)
            await asyncio.sleep(self._settings().backoff_ms / 1000 + 0.1)

    async def close(self) -> None:
        """Stop all threads and their unfinished work."""
        _log.info("Shutting down the log cleaner.")
        for task in self._threads.values():
            task.cancel()
        await asyncio.gather(*self._threads.values(), return_exceptions=True)

    def _died(self, name: str, error: BaseException) -> None:
        self._dead_threads += 1
        _log.error(f"[{name}]: Error due to {type(error).__name__}: {error}", exc_info=error)

    async def _clean_all(self, number: int) -> None:
        """Clean the filthiest log repeatedly; wait while no log is dirty enough."""
        cleaner = self._new_cleaner()
        try:
            while number < self._settings().threads:
                cleaned = await self.clean_filthiest(number, cleaner)
                await self._delete_old_segments()
                if not cleaned:
                    await cleaner.close()
                    await asyncio.sleep(self._settings().backoff_ms / 1000)
        finally:
            await cleaner.close()
        del self._threads[number]

    async def clean_filthiest(self, number: int, cleaner: CleanerProcess) -> bool:
        """Clean the filthiest log; return whether to go on with the next one at once.

        Args:
            number: The number of the thread in log lines.
            cleaner: The executor of the file work.
        """
        cleaning = await self._grab()
        if cleaning is None:
            return False
        topic_partition = cleaning.partition.topic_partition
        self._in_progress.add(topic_partition)
        try:
            return await self._clean(number, cleaner, cleaning)
        finally:
            self._in_progress.discard(topic_partition)

    async def _grab(self) -> _Cleaning | None:
        self._failures = {tp: each for tp, each in self._failures.items() if self._hosted.get(tp)}
        turn, found, delay_ms = Turn(), dict[TopicPartition, tuple[LogToClean, LogConfig]](), 0
        self._last_run_ms = self._clock_ms()
        for partition in tuple(self._hosted.all):
            if self._may_clean(partition):
                due = self._look_at(partition)
                if due is not None:
                    found[partition.topic_partition] = due, partition.log.config
                    delay_ms = max(delay_ms, due.compaction_delay_ms)
            await turn.yield_if_long()
        self._dirtiest_ratio = max((due.ratio for due, _ in found.values()), default=0.0)
        self._max_delay_ms = delay_ms
        chosen = filthiest(found)
        # Other tasks have run meanwhile, so the log is checked again.
        again = None if chosen is None else self._hosted.get(chosen)
        if again is None or not self._may_clean(again):
            return None
        due, log = self._look_at(again), again.log
        if due is None or not due.cleanable_bytes:
            return None
        return _Cleaning(again, log, due, log.compaction.generation)

    def _may_clean(self, partition: HostedPartition) -> bool:
        log, topic_partition = partition.log, partition.topic_partition
        return (
            log.config.is_compacted
            and self._hosted.get(topic_partition) is partition
            and topic_partition not in self._in_progress
            and not self._is_uncleanable(partition)
            and self._logs.futures.get(topic_partition) is None  # a move pauses the cleaning
            and log.compaction.generation >= 0
            and not log.compaction.is_damaged
        )

    def _is_uncleanable(self, partition: HostedPartition) -> bool:
        """Return whether cleaning the log has failed, and neither a change nor the time calls for a retry."""
        failure = self._failure_of(partition)
        return failure is not None and (failure.until_ms is None or monotonic_ms() < failure.until_ms)

    def _failure_of(self, partition: HostedPartition) -> _Failure | None:
        log, failure = partition.log, self._failures.get(partition.topic_partition)
        is_same = failure and failure.log is log and failure.generation == log.compaction.generation
        return failure if is_same else None

    def _look_at(self, partition: HostedPartition) -> LogToClean | None:
        """Return how dirty a log is; None if its disk refused."""
        log, topic_partition = partition.log, partition.topic_partition
        facts = facts_of(log, partition.replica.high_watermark)
        section = dirty_section(facts, self._logs.cleaner_offset(topic_partition))
        if section.is_reset:
            self._logs.checkpoint_cleaner_offset(topic_partition, section.offset)
        if section.warning is not None:
            _manager_log.warning(section.warning)
        try:
            return log_to_clean(facts, section.offset, self._clock_ms())
        except OSError as error:  # timestamps of segments are read from their files
            self._hosted.disk_failed(log.storage_error("cleaning", error))
            return None

    async def _clean(self, number: int, cleaner: CleanerProcess, cleaning: _Cleaning) -> bool:
        """Clean a log; return False if the file work cannot be done now, whichever the log."""
        partition, log = cleaning.partition, cleaning.log
        name = partition.topic_partition
        try:
            next_dirty = await self._carry_out(number, cleaner, cleaning)
        except _Aborted:
            await self._give_up(cleaner, log)
            _log.info(f"Cleaner {number}: The cleaning for partition {name} is aborted")
        except KafkaStorageError as error:
            await self._give_up(cleaner, log)
            self._hosted.disk_failed(error)
            return not isinstance(error, NoDescriptorError)
        except (CleanerUnavailableError, CorruptLogError, CorruptRecordsError, OSError) as error:
            await self._give_up(cleaner, log)
            if self._is_same(cleaning):  # otherwise truncated or deleted files are the reason
                self._failed(cleaning, error)
            return not isinstance(error, CleanerUnavailableError)
        else:
            self._failures.pop(name, None)
            if self._is_same(cleaning):
                self._logs.checkpoint_cleaner_offset(name, next_dirty)
        return True

    def _failed(self, cleaning: _Cleaning, error: Exception) -> None:
        partition, log, name = cleaning.partition, cleaning.log, cleaning.partition.topic_partition
        if isinstance(error, OSError):
            _log.error(f"Failed to cleanup log for {name} due to IOException", error=str(error))
            self._hosted.disk_failed(log.storage_error("cleaning", error))
            return
        former = self._failure_of(partition)
        in_a_row, until_ms = former.in_a_row + 1 if former else 1, None
        if isinstance(error, CleanerUnavailableError):
            pause_ms = min(max(self._settings().backoff_ms, RETRY_MS) * 2 ** (in_a_row - 1), MAX_RETRY_MS)
            until_ms = monotonic_ms() + pause_ms
            text = f"The process that compacts {name} has failed; the next try is in {pause_ms} ms"
        else:
            which = f"Marking its partition ({name}) as uncleanable"
            text = f"Unexpected exception thrown when cleaning log {described(partition)}. {which}"
        self._failures[name] = _Failure(log, log.compaction.generation, until_ms, in_a_row)
        _log.warning(text, error=str(error))
        if isinstance(error, CorruptLogError):
            self._hosted.on_corrupt(partition, error)

    async def _give_up(self, cleaner: CleanerProcess, log: Log) -> None:
        """Stop the file work and delete its unfinished files."""
        await cleaner.close()
        try:
            await _done(log.on_disk_thread(partial(remove_cleaned, log.directory)))
        except FileNotFoundError:
            return  # The directory was renamed, to be deleted.
        except OSError as error:
            log.storage_error("cleaning", error)

    async def _carry_out(self, number: int, cleaner: CleanerProcess, cleaning: _Cleaning) -> Offset:
        """Clean the log; return the offset at which its dirty section begins now.

        Raises:
            _Aborted: The log has changed meanwhile.
            CorruptLogError: A batch is damaged.
            CorruptRecordsError: The records of a batch cannot be read.
            CleanerUnavailableError: The process that compacts has failed.
            KafkaStorageError: The disk refused.
            OSError: The disk refused the file work.
        """
        log, name = cleaning.log, cleaning.partition.topic_partition
        # The file work finds segments by their names. Until the directory's thread has renamed the files of
        # the latest swap or repair, a former file has the name of the segment that replaced it.
        await _done(log.on_disk_thread(lambda: None))
        if not self._is_same(cleaning):
            raise _Aborted
        job = plan(log, cleaning.due, self._settings().memory)
        who = f"Cleaner {number}: "
        for line in beginning(name, job):
            _log.info(who + line)
        async for step in cleaner.steps(job):
            if not self._is_same(cleaning):
                raise _Aborted
            match step:
                case Progress():
                    await self._pace(step.bytes_moved)
                case NewSegment():
                    _log.info(
                        f"{who}Swapping in cleaned segment {step.base_offset} for segment(s) "
                        f"{list(step.replaced)} in log {name}"
                    )
                    await self._swap(cleaning, step)
                case Cleaned():
                    self._last_stats[number] = step.stats
                    first_dirty, end = cleaning.due.first_dirty_offset, step.next_dirty_offset
                    _log.info(who + statistics(number, name, first_dirty, end, step.stats))
                    if step.stats.invalid_messages:
                        found = f"Found {step.stats.invalid_messages} invalid messages during compaction."
                        _log.warning(who + found)
                    return end
        raise CleanerUnavailableError("the file work has ended before its end")

    async def _swap(self, cleaning: _Cleaning, step: NewSegment) -> None:
        log, config = cleaning.log, cleaning.log.config
        try:
            new = await _done(log.compaction.open(step.base_offset, config))
            if not self._is_same(cleaning):
                new.close()
                raise _Aborted
            await _done(log.compaction.begin_swap(new))
        except OSError as error:
            raise log.storage_error("cleaning", error) from error
        delay_ms = config.file_delete_delay_ms
        if not log.compaction.end_swap(new, step.replaced, cleaning.generation, delay_ms):
            raise _Aborted
        cleaning.generation = log.compaction.generation

    async def _pace(self, count: int) -> None:
        self._moved_bytes += count
        rate = self._settings().io_max_bytes_per_s
        pause_s = self._throttle.moved(count, rate, time.monotonic())
        if pause_s > 0:
            await asyncio.sleep(pause_s)

    def _is_same(self, cleaning: _Cleaning) -> bool:
        """Return whether the log is still hosted, compacted and undamaged, and was not truncated or moved."""
        partition, log = cleaning.partition, cleaning.log
        return (
            self._hosted.get(partition.topic_partition) is partition
            and partition.log is log
            and log.config.is_compacted
            and self._logs.futures.get(partition.topic_partition) is None
            and log.compaction.generation == cleaning.generation
            and not log.compaction.is_damaged
        )

    async def _delete_old_segments(self) -> None:
        """Delete segments of compacted logs that are below the log start or expired by ``compact,delete``."""
        turn = Turn()
        for partition in tuple(self._hosted.all):
            if self._may_clean(partition):
                self._retention.delete_of(partition)
            await turn.yield_if_long()

    def figures(self) -> CleanerFigures:
        """Return what the metrics page shows."""
        stats = tuple(self._last_stats.values())
        by_directory: dict[str, tuple[int, int]] = {}
        for partition in tuple(self._hosted.all):
            directory = str(partition.log.directory.parent)
            count, size = by_directory.get(directory, (0, 0))
            if self._is_uncleanable(partition):
                first_dirty = self._logs.cleaner_offset(partition.topic_partition) or Offset(0)
                count, size = count + 1, size + partition.log.compaction.uncleanable_bytes(first_dirty)
            by_directory[directory] = count, size
        read = sum(each.bytes_read for each in stats)
        gauges = {
            "max_buffer_utilization_percent": int(100 * max((each.utilization for each in stats), default=0)),
            "cleaner_recopy_percent": int(100 * sum(each.bytes_written for each in stats) / max(read, 1)),
            "max_clean_time_secs": int(max((each.elapsed_s for each in stats), default=0)),
            "max_compaction_delay_secs": self._max_delay_ms // 1000,
            "DeadThreadCount": self._dead_threads,
            "max_dirty_percent": int(100 * self._dirtiest_ratio),
            "time_since_last_run_ms": self._clock_ms() - self._last_run_ms,
        }
        return CleanerFigures(gauges, self._moved_bytes, by_directory)


async def _done(future: Future[T]) -> T:
    """Wait for work on a directory's thread, which goes on if the caller is cancelled."""
    return await asyncio.shield(asyncio.wrap_future(future))
