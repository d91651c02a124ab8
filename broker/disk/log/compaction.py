"""The steps of a compaction that run on the thread of the log's owner.

The work is planned, and files are read and written, elsewhere (``broker.cleaning``). Here the result is put
in place if the log has not changed in between.
"""

from __future__ import annotations

from concurrent.futures import Future

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.failure_guard import FailureGuard
from barnabas.broker.disk.log.log_context import LogContext
from barnabas.broker.disk.log.log_files import LogFiles
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.broker.disk.segment.swap import open_cleaned
from barnabas.cluster.model.ids import Offset, TopicPartition


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

    @property
    def segments(self) -> tuple[LogSegment, ...]:
        """All segments of the log, the oldest first; the last one takes the appends."""
        return tuple(self._files.segments)

    def uncleanable_bytes(self, first_dirty: Offset) -> int:
        """Return the size of the segments from ``first_dirty`` on."""
        return sum(segment.size for segment in self._files.segments.from_offset(first_dirty))

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
