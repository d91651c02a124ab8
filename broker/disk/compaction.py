"""The steps of a compaction that run on the thread of the log's owner.

The files are read and written elsewhere (``broker.disk.cleaning``). Here the work is planned, and its result
is put in place if the log has not changed in between.
"""

from __future__ import annotations

from concurrent.futures import Future
from itertools import starmap
from typing import NamedTuple

from barnabas.broker.core.compaction import CompactedLog, LogToClean, SegmentSize
from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.core.transactions import AbortedTransaction
from barnabas.broker.disk.cleaning_job import CleaningJob, LastOfProducer
from barnabas.broker.disk.failure_guard import FailureGuard
from barnabas.broker.disk.log_context import LogContext
from barnabas.broker.disk.log_files import LogFiles
from barnabas.broker.disk.segment import LogSegment
from barnabas.broker.disk.swap import open_cleaned
from barnabas.cluster.model.ids import Offset, TopicPartition


class CleanerMemory(NamedTuple):
    """The resources that one cleaner may use.

    Attributes:
        map_bytes: For the offset map.
        load_factor: The share of the map's slots that may be used.
        buffer_bytes: The bytes read at once.
    """

    map_bytes: int
    load_factor: float
    buffer_bytes: int


class LogCompaction:
    """The compaction of one log.

    Args:
        topic_partition: The partition.
        files: The files of the log.
        guard: Turns errors of the disk into the log's failure.
        context: The log directory.
    """

    def __init__(
        self, topic_partition: TopicPartition, files: LogFiles, guard: FailureGuard, context: LogContext
    ) -> None:
        self._topic_partition = topic_partition
        self._files = files
        self._guard = guard
        self._context = context

    @property
    def generation(self) -> int:
        """The number of truncations, repairs and compactions; -1 once the log is closed or has failed."""
        return -1 if self._guard.failure else self._files.generation

    @property
    def is_damaged(self) -> bool:
        """Return whether a range of the log is known to be damaged, and waits for its repair."""
        return any(segment.damaged for segment in self._files.segments)

    @property
    def gaps_end(self) -> Offset:
        """The offset below which compaction may have left gaps, here or in the log that was copied.

        Gaps are noted as they come. At a start, they may lie anywhere in a log that is or was compacted.
        """
        return self._files.gaps_end

    def note_gaps(self, end_offset: Offset) -> None:
        """Note that there may be gaps below ``end_offset``."""
        if end_offset > self._files.gaps_end:
            self._files.gaps_end = end_offset
            self._context.on_gaps(self._topic_partition)

    def facts(self, config: LogConfig, high_watermark: Offset) -> CompactedLog:
        """Return the facts from which the cleaner decides whether, and how far, it compacts the log."""
        files = self._files
        return CompactedLog(
            str(self._topic_partition),
            tuple(files.segments),
            files.log_start_offset,
            files.log_end_offset,
            files.last_stable_offset(high_watermark),
            config,
        )

    def uncleanable_bytes(self, first_dirty: Offset) -> int:
        """Return the size of the segments from ``first_dirty`` on."""
        return sum(segment.size for segment in self._files.segments.from_offset(first_dirty))

    def job(self, due: LogToClean, config: LogConfig, memory: CleanerMemory) -> CleaningJob:
        """Plan the compaction of the log up to ``due.end_offset``.

        Raises:
            KafkaStorageError: The disk refused, or the log is closed.
        """
        self._guard.check()
        return CleaningJob(
            directory=str(self._files.directory),
            segments=self._guard.run("cleaning", lambda: self._sizes(due.end_offset)),
            first_dirty_offset=due.first_dirty_offset,
            end_offset=due.end_offset,
            producers=tuple(starmap(LastOfProducer, self._files.producers.snapshot().last_offsets())),
            aborted_later=self._guard.run("cleaning", lambda: self._aborted_later(due.end_offset)),
            delete_retention_ms=config.delete_retention_ms,
            segment_bytes=config.segment_bytes,
            segment_index_bytes=config.segment_index_bytes,
            index_interval_bytes=config.index_interval_bytes,
            map_bytes=memory.map_bytes,
            load_factor=memory.load_factor,
            buffer_bytes=memory.buffer_bytes,
        )

    def _sizes(self, end_offset: Offset) -> tuple[SegmentSize, ...]:
        segments = self._files.segments
        return tuple(
            SegmentSize(
                each.base_offset,
                segments.end_of(each, end_offset),
                each.size,
                each.offset_index.size,
                each.time_index.size,
                each.modified_ms,
            )
            for each in segments
            if each.base_offset < end_offset
        )

    def _aborted_later(self, end_offset: Offset) -> tuple[AbortedTransaction, ...]:
        """Return the aborted transactions with records below ``end_offset`` and markers in later segments.

        Their markers are below the high watermark, or ``end_offset`` would not lie behind their records.
        """
        return tuple(self._files.aborted_transactions(end_offset, end_offset))

    def open(self, base_offset: Offset, config: LogConfig) -> Future[LogSegment]:
        """Begin to open a compacted segment, on the directory's thread; its result may be ``OSError``."""
        directory, now_ms = self._files.directory, self._context.clock()
        return self._context.executor.submit(open_cleaned, directory, base_offset, config, now_ms)

    def begin_swap(self, new: LogSegment) -> Future[None]:
        """Begin to put a compacted segment in place; ``end_swap`` must follow. Its result may be ``OSError``.

        Raises:
            KafkaStorageError: The log is closed.
        """
        self._guard.check()
        self._context.on_gaps(self._topic_partition)
        return self._files.begin_swap(new)

    def end_swap(
        self, new: LogSegment, base_offsets: tuple[Offset, ...], generation: int, delay_ms: int
    ) -> bool:
        """Put a compacted segment in the place of those of ``base_offsets``.

        Args:
            new: The compacted segment, after ``begin_swap``.
            base_offsets: The base offsets of the segments that it replaces.
            generation: The generation of the log when they were read.
            delay_ms: The milliseconds after which the former files are unlinked (``file.delete.delay.ms``).

        Returns:
            Whether it is in place; False if the log has another generation by now.

        Raises:
            KafkaStorageError: The log is closed.
        """
        self._guard.check()
        formers = self._files.end_swap(new, base_offsets, generation)
        self._context.on_removed(formers, self._context.clock() + delay_ms)
        return bool(formers)

    def failed(self, error: OSError) -> None:
        """Note that the disk refused; the directory goes offline, unless the log was closed before."""
        if self._guard.failure is None:
            self._guard.fail("cleaning", error)
