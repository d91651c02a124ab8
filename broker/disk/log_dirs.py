"""All log directories of a broker and the logs in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path

from broker.core.log_config import LogConfig
from broker.disk.log import Log
from cluster.model.ids import BrokerId, Offset, TopicPartition


@dataclass(frozen=True, slots=True)
class LogDirsOptions:
    """What the broker tells its log directories.

    Attributes:
        broker_id: Must agree with ``meta.properties`` of every directory; written to new ones.
        cluster_id: Likewise; 22 characters.
        config_for: The settings of a topic's logs.
        executor_for: The one thread that a directory's fsync, roll flush and deletions run on.
        clock: Wall time in milliseconds since the epoch.
    """

    broker_id: BrokerId
    cluster_id: str
    config_for: Callable[[str], LogConfig]
    executor_for: Callable[[Path], Executor]
    clock: Callable[[], int]


class LogDirs:
    """The broker's ``log.dirs``: locked, recovered and open."""

    @classmethod
    def open(cls, directories: Sequence[Path], options: LogDirsOptions) -> LogDirs:
        """Lock the directories, compare ``meta.properties`` and load every log, recovered where it must be.

        Blocks for as long as recovery takes; run it off the loop.

        Raises:
            InconsistentDirectoryError: A directory is locked by another process, or belongs to another
                broker or
                cluster; nothing in it was changed.
            KafkaStorageError: No directory can be used.
        """
        raise NotImplementedError

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """The open logs."""
        raise NotImplementedError

    @property
    def offline(self) -> Mapping[Path, str]:
        """The directories that failed, and why."""
        raise NotImplementedError

    def get(self, topic_partition: TopicPartition) -> Log | None:
        """That partition's log, or None where this broker has none."""
        raise NotImplementedError

    def get_or_create(self, topic_partition: TopicPartition) -> Log:
        """That partition's log; a new one is created in the live directory with the fewest partitions."""
        raise NotImplementedError

    def delete(self, topic_partition: TopicPartition) -> None:
        """Close the log and rename its directory to ``...-delete``; ``purge_deleted`` unlinks it later."""
        raise NotImplementedError

    def purge_deleted(self) -> None:
        """Unlink what was deleted longer than ``file.delete.delay.ms`` ago."""
        raise NotImplementedError

    def high_watermark(self, topic_partition: TopicPartition) -> Offset:
        """The checkpointed high watermark, forced into the log; its log start offset where none is known."""
        raise NotImplementedError

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[TopicPartition, Offset]) -> None:
        """Write ``replication-offset-checkpoint`` in every directory, each with its own logs."""
        raise NotImplementedError

    def checkpoint_recovery_points(self) -> None:
        """Write ``recovery-point-offset-checkpoint`` in every directory."""
        raise NotImplementedError

    def checkpoint_log_start_offsets(self) -> None:
        """Write ``log-start-offset-checkpoint`` in every directory."""
        raise NotImplementedError

    def flush_dirty_logs(self) -> None:
        """Begin flushing, on the directories' threads, the logs that ``flush.ms`` says are due."""
        raise NotImplementedError

    def fail(self, directory: Path, cause: str) -> tuple[TopicPartition, ...]:
        """Take a directory offline; returns the partitions whose logs are gone with it."""
        raise NotImplementedError

    def close(self) -> None:
        """Close every log, checkpoint, leave ``.kafka_cleanshutdown`` in each directory and unlock it."""
        raise NotImplementedError
