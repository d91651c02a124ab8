"""The checkpoint of the log cleaner in a log directory: where the dirty section of each log begins."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import partial
from pathlib import Path

from barnabas.broker.disk.checkpoints import CLEANER_OFFSET, write_offsets
from barnabas.broker.disk.log.log import Log
from barnabas.cluster.model.ids import Offset, TopicPartition


class CleanerOffsets:
    """The rows of ``cleaner-offset-checkpoint``.

    A row stays when its topic is no longer compacted: it says at the next start that the log may have gaps.

    Args:
        directory: The log directory.
        logs: The open logs in it; only their rows are written.
        submit: Runs a write on the directory's thread.
    """

    def __init__(
        self,
        directory: Path,
        logs: Mapping[TopicPartition, Log],
        submit: Callable[[Callable[[], None]], None],
    ) -> None:
        self._path = directory / CLEANER_OFFSET
        self._logs = logs
        self._submit = submit
        self._rows: dict[TopicPartition, Offset] = {}
        self._written: dict[TopicPartition, Offset] = {}

    def __contains__(self, topic_partition: TopicPartition) -> bool:
        """Return whether a log has a row."""
        return topic_partition in self._rows

    def load(self, rows: Mapping[TopicPartition, Offset]) -> None:
        """Replace the rows by those of the file."""
        self._rows = dict(rows)

    def get(self, topic_partition: TopicPartition) -> Offset | None:
        """Return where the dirty section of a log begins; None without a row."""
        return self._rows.get(topic_partition)

    def assign(self, topic_partition: TopicPartition, offset: Offset) -> None:
        """Set a row and submit the write of all."""
        self._rows[topic_partition] = offset
        self.write()

    def keep(self, topic_partition: TopicPartition) -> None:
        """Make sure that a log has a row; without one, all of the log is dirty."""
        log = self._logs.get(topic_partition)
        if log is not None and topic_partition not in self._rows:
            self.assign(topic_partition, log.log_start_offset)

    def keep_loaded(self, topic_partitions: Iterable[TopicPartition]) -> None:
        """Make sure that open logs have rows, and write them at once: the directory's thread is loading.

        Raises:
            OSError: The disk refused.
        """
        for topic_partition in topic_partitions:
            self._rows.setdefault(topic_partition, self._logs[topic_partition].log_start_offset)
        work = self._take_write()
        if work is not None:
            work()

    def truncated(self, topic_partition: TopicPartition, active_base_offset: Offset) -> None:
        """Lower the row of a truncated log: later appends there are dirty."""
        offset = self._rows.get(topic_partition)
        if offset is not None and offset > active_base_offset:
            self.assign(topic_partition, active_base_offset)

    def forget(self, topic_partition: TopicPartition) -> None:
        """Drop the row of a log that is gone, without a write."""
        self._rows.pop(topic_partition, None)

    def write(self) -> None:
        """Submit the write of the rows, if they changed; without any, there is no such file."""
        work = self._take_write()
        if work is not None:
            self._submit(work)

    def _take_write(self) -> Callable[[], None] | None:
        """Return the write of the rows if they changed; it counts as done."""
        rows = {tp: offset for tp, offset in self._rows.items() if tp in self._logs}
        if rows == self._written:
            return None
        self._written = rows
        return partial(write_offsets, self._path, rows)
