"""The log directories for DescribeLogDirs and AlterReplicaLogDirs.

Source: ``ReplicaManager.describeLogDirs`` and ``alterReplicaLogDirs`` of Kafka 2.8; KIP-113.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import structlog

from barnabas.broker.core.replication.log_dir_moves import AlterLogDir, Hosting, judge_alter
from barnabas.broker.disk.directory.log_dirs import LogDirs
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.names import MAX_NAME_LENGTH, future_directory
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.interface import DescribedLog, DescribedLogDir
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.model.log_text import printable, shortened
from barnabas.cluster.runtime.line_limit import LINES

_log = structlog.get_logger("kafka.server.ReplicaManager")

UNKNOWN_LAG = -1


class LogDirectories:
    """This broker's log directories.

    Args:
        hosted: The partitions.
        logs: The directories.
        on_move: Called when a replica has begun to move.
    """

    def __init__(self, hosted: HostedPartitions, logs: LogDirs, on_move: Callable[[], None]) -> None:
        self._hosted = hosted
        self._dirs = logs
        self._on_move = on_move

    def describe(self) -> Sequence[DescribedLogDir]:
        """Return every configured directory and the logs in it."""
        return [self._described(path) for path in self._dirs.configured]

    def _described(self, path: Path) -> DescribedLogDir:
        logs = self._dirs.logs_in(path)
        if logs is None:
            return DescribedLogDir(str(path.absolute()), ErrorCode.KAFKA_STORAGE_ERROR)
        rows = [DescribedLog(name, log.size, self._lag(name)) for name, log in logs.items()]
        rows += [
            DescribedLog(name, log.size, self._lag(name, log.log_end_offset), is_future=True)
            for name, log in self._dirs.futures_in(path).items()
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
        """Begin to move a replica to the log directory with the absolute path ``path``, or cancel its move.

        Returns:
            ``NONE`` if it moves or is there; ``REPLICA_NOT_AVAILABLE`` if this broker has no replica, which
            will then be created there; ``LOG_DIR_NOT_FOUND``, ``KAFKA_STORAGE_ERROR`` or
            ``INVALID_TOPIC_EXCEPTION`` if it cannot move there.
        """
        directory = next((each for each in self._dirs.configured if str(each.absolute()) == path), None)
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
        dirs = self._dirs
        current, future = dirs.get(topic_partition), dirs.futures.get(topic_partition)
        decision = judge_alter(
            AlterLogDir(
                is_name_too_long=len(future_directory(topic_partition).encode()) > MAX_NAME_LENGTH,
                is_configured=directory is not None,
                is_live=directory in dirs.live,
                are_all_live=not dirs.offline,
                hosting=self._hosting(topic_partition),
                is_current=current is not None and current.directory.parent == directory,
                future=None if future is None else future.directory.parent == directory,
            )
        )
        if directory is not None:
            if decision.cancels:
                dirs.futures.delete(topic_partition)
            if decision.prefers:
                dirs.prefer(topic_partition, directory)
            if decision.begins:
                self._begin(topic_partition, directory)
        return decision.error

    def _hosting(self, topic_partition: TopicPartition) -> Hosting:
        if topic_partition in self._hosted.offline:
            return Hosting.OFFLINE
        return Hosting.ABSENT if self._hosted.get(topic_partition) is None else Hosting.ONLINE

    def _begin(self, topic_partition: TopicPartition, directory: Path) -> None:
        self._dirs.futures.create(topic_partition, directory)
        _log.info(f"The replica of {topic_partition} begins to move", directory=str(directory))
        self._on_move()
