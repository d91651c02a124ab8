"""What goes wrong below the log: the disk itself, or files that contradict each other."""

from __future__ import annotations

import errno
from pathlib import Path

from barnabas.broker.disk.names import TOPIC_IDENTITY_CHECKPOINT
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition

NO_DESCRIPTOR = frozenset({errno.EMFILE, errno.ENFILE})
"""How the system says that too many files are open, by the process or by all of the machine."""


class KafkaStorageError(Exception):
    """The disk refused a read or a write; the log directory can no longer be trusted and goes offline.

    Attributes:
        log_dir: The directory that goes offline, with all its partitions.
    """

    error = ErrorCode.KAFKA_STORAGE_ERROR

    def __init__(self, log_dir: Path, doing: str, cause: OSError | None = None) -> None:
        super().__init__(f"log directory {log_dir}: {doing}" + (f": {cause}" if cause else ""))
        self.log_dir = log_dir


class PartitionWithoutLogError(KafkaStorageError):
    """One partition has no log here; the log directories stay online, and so do their other partitions.

    Attributes:
        topic_partition: Which partition.
    """

    def __init__(
        self, log_dir: Path, topic_partition: TopicPartition, doing: str, cause: OSError | None = None
    ) -> None:
        super().__init__(log_dir, doing, cause)
        self.topic_partition = topic_partition


class LogNameError(PartitionWithoutLogError):
    """The file system takes no directory of a partition's name."""

    def __init__(self, log_dir: Path, topic_partition: TopicPartition, cause: OSError) -> None:
        super().__init__(log_dir, topic_partition, f"no log of {topic_partition} can be made", cause)


class MissingLogError(PartitionWithoutLogError):
    """The log of a partition that has records elsewhere, or had them here, is not where it was.

    An empty log in its place would lead, or be in sync, with nothing.
    """

    def __init__(self, log_dir: Path, topic_partition: TopicPartition) -> None:
        doing = (
            f"there is no log of {topic_partition}, though the partition is not new and this replica is in "
            "its ISR: the log directory was emptied, or is not mounted. If another broker of the ISR is "
            "alive, it leads, and this one begins with an empty log and copies. If none is, start one, or "
            "put the directory back and start this broker again, or lose the records by an unclean election "
            "(kafka-leader-election.sh --election-type unclean)"
        )
        super().__init__(log_dir, topic_partition, doing)


class OtherTopicsLogError(PartitionWithoutLogError):
    """The log of a partition of which this replica is in sync is that of another topic of the same name.

    The log stays where it is: it may hold the only records that there are, and a person may know better.
    """

    def __init__(self, directory: Path, topic_partition: TopicPartition) -> None:
        doing = (
            f"the log of {topic_partition}, of which this replica is in sync, is that of another topic of "
            "this name; to use it all the same, stop the broker and remove "
            f"{directory / TOPIC_IDENTITY_CHECKPOINT}"
        )
        super().__init__(directory.parent, topic_partition, doing)


class NoDescriptorError(KafkaStorageError):
    """The process, or the machine, has too many files open to open another: what was asked for was not done.

    The disk itself is sound: the log directory stays online, and the same may succeed a moment later.
    """


def storage_error(log_dir: Path, doing: str, cause: OSError) -> KafkaStorageError:
    """What ``cause`` means to a log directory."""
    kind = NoDescriptorError if cause.errno in NO_DESCRIPTOR else KafkaStorageError
    return kind(log_dir, doing, cause)


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
