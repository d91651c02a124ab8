"""The errors below the log: of the disk itself, or of files that contradict each other."""

from __future__ import annotations

import errno
from pathlib import Path

from barnabas.broker.disk.names import TOPIC_IDENTITY_CHECKPOINT
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE, errno.EBADF})
"""The error numbers of a sound disk: too many open files, of the process or of the machine; a closed file."""


class KafkaStorageError(Exception):
    """An error of the disk, after which a log directory cannot be trusted and goes offline.

    Attributes:
        log_dir: The directory that goes offline, with all its partitions.
    """

    error = ErrorCode.KAFKA_STORAGE_ERROR

    def __init__(self, log_dir: Path, doing: str, cause: OSError | None = None) -> None:
        super().__init__(f"log directory {log_dir}: {doing}" + (f": {cause}" if cause else ""))
        self.log_dir = log_dir


class PartitionWithoutLogError(KafkaStorageError):
    """An error of one partition that has no log here; the log directories stay online.

    Attributes:
        topic_partition: The partition.
    """

    def __init__(
        self, log_dir: Path, topic_partition: TopicPartition, doing: str, cause: OSError | None = None
    ) -> None:
        super().__init__(log_dir, doing, cause)
        self.topic_partition = topic_partition


class LogNameError(PartitionWithoutLogError):
    """An error of a file system that accepts no directory of a partition's name."""

    def __init__(self, log_dir: Path, topic_partition: TopicPartition, cause: OSError) -> None:
        super().__init__(log_dir, topic_partition, f"no log of {topic_partition} can be made", cause)


class MissingLogError(PartitionWithoutLogError):
    """An error of a partition whose log is missing, though this replica is in sync or leads.

    An empty log in its place would lead, or be in sync, without the partition's records.
    """

    def __init__(self, log_dir: Path, topic_partition: TopicPartition) -> None:
        doing = (
            f"there is no log of {topic_partition}, though the partition is not new and this replica is in "
            "its ISR: the log directory was emptied, or is not mounted. If another broker of the ISR is "
            "alive, it leads, and this one copies its records into an empty log. If none is, start one, or "
            "put the directory back and start this broker again, or lose the records by an unclean election "
            "(kafka-leader-election.sh --election-type unclean)"
        )
        super().__init__(log_dir, topic_partition, doing)


class OtherTopicsLogError(PartitionWithoutLogError):
    """An error of an in-sync replica whose log belongs to another topic of the same name.

    The log is not renamed: it may hold the only copy of the records, and an operator must decide.
    """

    def __init__(self, directory: Path, topic_partition: TopicPartition) -> None:
        doing = (
            f"the log of {topic_partition}, of which this replica is in sync, is that of another topic of "
            "this name; to use it all the same, stop the broker and remove "
            f"{directory / TOPIC_IDENTITY_CHECKPOINT}"
        )
        super().__init__(directory.parent, topic_partition, doing)


class MovedLogError(PartitionWithoutLogError):
    """An error of work on a log that another log directory's has replaced; another try finds that one."""

    def __init__(self, log_dir: Path, topic_partition: TopicPartition) -> None:
        super().__init__(log_dir, topic_partition, f"{topic_partition} has moved to another log directory")


class ClosedLogError(PartitionWithoutLogError):
    """An error of work on a log that is closed: the broker stops, or the partition was deleted."""

    def __init__(self, log_dir: Path, topic_partition: TopicPartition) -> None:
        super().__init__(log_dir, topic_partition, f"{topic_partition} is closed")


class NoDescriptorError(KafkaStorageError):
    """An error of opening a file: the process, or the machine, has too many files open.

    The disk itself is sound: the log directory stays online, and another try may succeed.
    """


class ClosedFileError(NoDescriptorError):
    """An error of work on a segment that was removed meanwhile; another try finds what took its place."""


def storage_error(log_dir: Path, doing: str, cause: OSError) -> KafkaStorageError:
    """Return the error of a log directory for ``cause``."""
    kind = KafkaStorageError
    if cause.errno in NO_DESCRIPTOR:
        kind = ClosedFileError if cause.errno == errno.EBADF else NoDescriptorError
    return kind(log_dir, doing, cause)


class CorruptLogError(Exception):
    """An error of a batch that differs from what its place, or the index, implies.

    The disk itself may be sound, so no directory goes offline for it (Kafka's ``CorruptRecordException``).

    Attributes:
        path: The segment's file.
        position: The byte in it.
        next_offset: The offset after the last valid batch before it.
        found: What is there.
    """

    error = ErrorCode.CORRUPT_MESSAGE

    def __init__(self, path: Path, position: int, next_offset: Offset, found: str) -> None:
        super().__init__(path, position, next_offset, found)
        self.path = path
        self.position = position
        self.next_offset = next_offset
        self.found = found

    def __str__(self) -> str:
        return f"{self.path}, byte {self.position}: {self.found}"


class CorruptCheckpointError(Exception):
    """An error of a checkpoint file that is not in Kafka's format; names file, line and format."""


class InconsistentDirectoryError(Exception):
    """An error of a log directory that this broker may not use: locked, or of another broker or cluster."""
