"""What goes wrong below the log: the disk itself, or files that contradict each other."""

from __future__ import annotations

from pathlib import Path

from cluster.model.errors import ErrorCode
from cluster.model.ids import Offset, TopicPartition


class KafkaStorageError(Exception):
    """The disk refused a read or a write; the log directory can no longer be trusted and goes offline.

    Attributes:
        log_dir: The directory that goes offline, with all its partitions.
    """

    error = ErrorCode.KAFKA_STORAGE_ERROR

    def __init__(self, log_dir: Path, doing: str, cause: OSError | None = None) -> None:
        super().__init__(f"log directory {log_dir}: {doing}" + (f": {cause}" if cause else ""))
        self.log_dir = log_dir


class LogNameError(KafkaStorageError):
    """The file system takes no directory of a partition's name; that partition has no log here.

    The disk itself is sound: the log directory stays online, and so do its other partitions.

    Attributes:
        topic_partition: Whose log cannot be made.
    """

    def __init__(self, log_dir: Path, topic_partition: TopicPartition, cause: OSError) -> None:
        super().__init__(log_dir, f"no log of {topic_partition} can be made", cause)
        self.topic_partition = topic_partition


class CorruptLogError(Exception):
    """A batch of a log is not what its place, or the index, says; the log is served but for that place.

    The disk itself may be sound, so no directory goes offline for it (``CorruptRecordException`` of Kafka).

    Attributes:
        path: The segment's file.
        position: Where in it, in bytes.
        next_offset: The offset after the last batch that was found right before it.
    """

    error = ErrorCode.CORRUPT_MESSAGE

    def __init__(self, path: Path, position: int, next_offset: Offset, found: str) -> None:
        super().__init__(f"{path}, byte {position}: {found}")
        self.path = path
        self.position = position
        self.next_offset = next_offset


class CorruptCheckpointError(Exception):
    """A checkpoint file that is not in Kafka's format; names the file, the line and what was expected."""


class InconsistentDirectoryError(Exception):
    """A log directory that this broker may not use: locked, or another broker's or cluster's."""
