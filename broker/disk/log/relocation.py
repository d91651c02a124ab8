"""The operations on a log and its copy when the copy replaces it in another log directory."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.disk.errors import MovedLogError
from barnabas.broker.disk.failure_guard import FailureGuard
from barnabas.broker.disk.log.log_files import LogFiles
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import TopicPartition


class LogRelocation:
    """The operations on one log, the former or the new one.

    Args:
        topic_partition: The log's partition.
        files: Its files.
        guard: The guard that refuses every call of the log once it is replaced.
    """

    def __init__(self, topic_partition: TopicPartition, files: LogFiles, guard: FailureGuard) -> None:
        self._topic_partition = topic_partition
        self._files = files
        self._guard = guard

    @property
    def is_flushing(self) -> bool:
        """Return whether a submitted flush has not ended yet."""
        return self._files.flushing.is_pending

    def moved_to(self, directory: Path) -> None:
        """Note the new name of the log's directory; no flush may be pending."""
        self._files.moved_to(directory)

    def replaced(self) -> list[LogSegment]:
        """Refuse every later call of the log, but leave the files of its segments open.

        Readers that have found records continue to read them.

        Returns:
            The segments, which the caller closes later.
        """
        self._guard.close(MovedLogError(self._files.directory.parent, self._topic_partition))
        return list(self._files.segments)
