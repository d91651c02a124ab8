"""The log directories for DescribeLogDirs (``interface.LogDirAdmin``).

Source: ``ReplicaManager.describeLogDirs`` of Kafka 2.8; KIP-113.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from barnabas.broker.disk.log import Log
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.interface import DescribedLog, DescribedLogDir
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

UNKNOWN_LAG = -1


class DirectoryContents(Protocol):
    """The part of the log directories that is described (``broker.disk.log_dirs.LogDirs``)."""

    configured: tuple[Path, ...]

    def logs_in(self, directory: Path) -> Mapping[TopicPartition, Log] | None:
        """Return the open logs of one directory, or None if it is offline."""
        ...


class LogDirectories:
    """The description of this broker's log directories."""

    def __init__(self, hosted: HostedPartitions, contents: DirectoryContents) -> None:
        self._hosted = hosted
        self._contents = contents

    def describe(self) -> Sequence[DescribedLogDir]:
        """Return every configured directory and the logs in it; see ``interface.LogDirAdmin.describe``."""
        return [self._described(path) for path in self._contents.configured]

    def _described(self, path: Path) -> DescribedLogDir:
        logs = self._contents.logs_in(path)
        if logs is None:
            return DescribedLogDir(str(path.absolute()), ErrorCode.KAFKA_STORAGE_ERROR)
        rows = [DescribedLog(name, log.size, self._lag(name)) for name, log in logs.items()]
        return DescribedLogDir(str(path.absolute()), ErrorCode.NONE, rows)

    def _lag(self, topic_partition: TopicPartition) -> int:
        partition = self._hosted.get(topic_partition)
        if partition is None:
            return UNKNOWN_LAG
        return max(partition.replica.high_watermark - partition.log.log_end_offset, 0)
