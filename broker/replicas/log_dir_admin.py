"""The log directories for DescribeLogDirs and AlterReplicaLogDirs (``interface.LogDirAdmin``).

Source: ``ReplicaManager.describeLogDirs`` and ``alterReplicaLogDirs`` of Kafka 2.8; KIP-113.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import structlog

from barnabas.broker.core.replication.log_dir_moves import AlterLogDir, Hosting, judge_alter
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.log.log import Log
from barnabas.broker.disk.names import MAX_NAME_LENGTH, future_directory
from barnabas.broker.replicas.hosted import HostedPartitions, Logs
from barnabas.broker.replicas.interface import DescribedLog, DescribedLogDir
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.runtime.line_limit import LINES

_log = structlog.get_logger("kafka.server.ReplicaManager")

UNKNOWN_LAG = -1


class DirectoryContents(Logs, Protocol):
    """The part of the log directories that is described and altered (``broker.disk.log_dirs.LogDirs``)."""

    configured: tuple[Path, ...]

    def logs_in(self, directory: Path) -> Mapping[TopicPartition, Log] | None:
        """Return the open logs of one directory, or None if it is offline."""
        ...

    def futures_in(self, directory: Path) -> Mapping[TopicPartition, Log]:
        """Return the future logs of one directory, none if it is offline."""
        ...


class LogDirectories:
    """This broker's log directories.

    Args:
        hosted: The partitions.
        contents: The directories.
        on_move: Called when a replica has begun to move.
    """

    def __init__(
        self, hosted: HostedPartitions, contents: DirectoryContents, on_move: Callable[[], None]
    ) -> None:
        self._hosted = hosted
        self._contents = contents
        self._on_move = on_move

    def describe(self) -> Sequence[DescribedLogDir]:
        """Return every configured directory and the logs in it; see ``interface.LogDirAdmin.describe``."""
        return [self._described(path) for path in self._contents.configured]

    def _described(self, path: Path) -> DescribedLogDir:
        logs = self._contents.logs_in(path)
        if logs is None:
            return DescribedLogDir(str(path.absolute()), ErrorCode.KAFKA_STORAGE_ERROR)
        rows = [DescribedLog(name, log.size, self._lag(name)) for name, log in logs.items()]
        rows += [
            DescribedLog(name, log.size, self._lag(name, log.log_end_offset), is_future=True)
            for name, log in self._contents.futures_in(path).items()
        ]
        return DescribedLogDir(str(path.absolute()), ErrorCode.NONE, rows)

    def _lag(self, topic_partition: TopicPartition, future_end: Offset | None = None) -> int:
        partition = self._hosted.get(topic_partition)
        if partition is None:
            return UNKNOWN_LAG
        end_offset = partition.log.log_end_offset
        if future_end is not None:
            return end_offset - future_end
        return max(partition.replica.high_watermark - end_offset, 0)

    def alter(self, topic_partition: TopicPartition, path: str) -> ErrorCode:
        """Begin to move a replica, or cancel its move; see ``interface.LogDirAdmin.alter``."""
        directory = next((each for each in self._contents.configured if str(each.absolute()) == path), None)
        try:
            error = self._alter(topic_partition, directory)
        except KafkaStorageError as failure:
            self._hosted.disk_failed(failure)
            error = failure.error
        if error is not ErrorCode.NONE and LINES.allow("refused moves between log directories"):
            named, where = printable(shortened(str(topic_partition))), printable(shortened(path))
            _log.warning(f"Unable to alter log dirs for {named}: {error.name}", directory=where)
        return error

    def _alter(self, topic_partition: TopicPartition, directory: Path | None) -> ErrorCode:
        contents = self._contents
        current, future = contents.get(topic_partition), contents.futures.get(topic_partition)
        decision = judge_alter(
            AlterLogDir(
                is_name_too_long=len(future_directory(topic_partition).encode()) > MAX_NAME_LENGTH,
                is_configured=directory is not None,
                is_live=directory in contents.live,
                are_all_live=not contents.offline,
                hosting=self._hosting(topic_partition),
                is_current=current is not None and current.directory.parent == directory,
                future=None if future is None else future.directory.parent == directory,
            )
        )
        if directory is not None:
            if decision.cancels:
                contents.futures.delete(topic_partition)
            if decision.prefers:
                contents.prefer(topic_partition, directory)
            if decision.begins:
                self._begin(topic_partition, directory)
        return decision.error

    def _hosting(self, topic_partition: TopicPartition) -> Hosting:
        if topic_partition in self._hosted.offline:
            return Hosting.OFFLINE
        return Hosting.ABSENT if self._hosted.get(topic_partition) is None else Hosting.ONLINE

    def _begin(self, topic_partition: TopicPartition, directory: Path) -> None:
        self._contents.futures.create(topic_partition, directory)
        _log.info(f"The replica of {topic_partition} begins to move", directory=str(directory))
        self._on_move()
