"""The names of a log's files and directories (``core/log/Log.scala`` of Kafka 2.8)."""

from __future__ import annotations

import re
from pathlib import Path
from uuid import uuid4

from barnabas.cluster.model.ids import Offset, TopicPartition

LOG_SUFFIX = ".log"
INDEX_SUFFIX = ".index"
TIME_INDEX_SUFFIX = ".timeindex"
TRANSACTION_INDEX_SUFFIX = ".txnindex"
SNAPSHOT_SUFFIX = ".snapshot"
DELETED_SUFFIX = ".deleted"
CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
REFETCHED_SUFFIX = ".refetched.deleted"
"""The suffix of files that are fetched again to replace damaged ones.

Every start of a broker removes them.
"""

TEMPORARY_SUFFIX = ".tmp"

SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
"""The suffixes of one segment's files."""

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"

TOPIC_IDENTITY_CHECKPOINT = "topic-identity-checkpoint"
"""A file of ours: Kafka ignores a file of this name and deletes it with the log."""

MAX_NAME_LENGTH = 255
"""The longest file name, in bytes, on common file systems."""

MAX_PARTITION = 2**31 - 1
MAX_OFFSET = 2**63 - 1
"""The largest numbers that fit into the wire format; Kafka creates no file of a larger one."""

STRAY_SUFFIX = "-stray"
"""The suffix of a stray log's directory (``LocalLog.StrayDirSuffix`` of Kafka 3.x)."""

FUTURE_SUFFIX = "-future"
"""The suffix of the directory of a log that is copied from another one (``Log.FutureDirSuffix``)."""

MOVED_LOG = "moved-log"
"""A file of ours in the directory of a log that replaces one in another log directory; Kafka ignores it."""

_DELETED_DIRECTORY = re.compile(r"^(?P<name>\S+)\.[0-9a-f]{32}-delete$")
_STRAY_DIRECTORY = re.compile(rf"^(?P<topic>\S+)-[0-9]+\.[0-9a-f]{{32}}{STRAY_SUFFIX}$")
_PARTITION_DIRECTORY = re.compile(r"^(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})$")
_FUTURE_DIRECTORY = re.compile(rf"^(?P<name>\S+)\.[0-9a-f]{{32}}{FUTURE_SUFFIX}$")
_NAMED_BY_OFFSET = re.compile(r"^[0-9]{20}\.", re.ASCII)


def segment_file(directory: Path, base_offset: int, suffix: str) -> Path:
    """Return the path of a segment's file: its base offset in 20 digits, and the suffix."""
    return directory / f"{base_offset:020d}{suffix}"


def offset_of(path: Path) -> Offset:
    """Return the offset in the name of a file that ``files_with`` returned."""
    return Offset(int(path.name.split(".", 1)[0]))


def files_with(directory: Path, suffix: str) -> list[Path]:
    """Return the files of that suffix in a partition's directory that are named by an offset, in its order.

    Files whose names differ from Kafka's are ignored: ``5.log`` would be the segment at offset 5 a second
    time.
    """
    return sorted(path for path in directory.glob(f"*{suffix}") if _is_named_by_offset(path))


def _is_named_by_offset(path: Path) -> bool:
    return _NAMED_BY_OFFSET.match(path.name) is not None and offset_of(path) <= MAX_OFFSET


def partition_directory(topic_partition: TopicPartition) -> str:
    """Return the name of a partition's directory."""
    return str(topic_partition)


def deleted_directory(topic_partition: TopicPartition) -> str:
    """Return a new name for the directory of a log to be deleted, cut to the length of a file name."""
    return _unique(topic_partition, "-delete")


def stray_directory(topic_partition: TopicPartition) -> str:
    """Return a new name for the directory of a stray log, cut to the length of a file name."""
    return _unique(topic_partition, STRAY_SUFFIX)


def future_directory(topic_partition: TopicPartition) -> str:
    """Return a new name for the directory of a future log; unlike other names, it is not cut.

    A name of more than `MAX_NAME_LENGTH` bytes cannot be used.
    """
    return f"{topic_partition}.{uuid4().hex}{FUTURE_SUFFIX}"


def _unique(topic_partition: TopicPartition, ending: str) -> str:
    suffix = f"-{topic_partition.partition}.{uuid4().hex}{ending}"
    kept = topic_partition.topic.encode()[: MAX_NAME_LENGTH - len(suffix)]
    return kept.decode(errors="ignore") + suffix


def stray_topic(name: str) -> str | None:
    """Return the topic of the stray log in the directory ``name``, or None if it is no such directory."""
    match = _STRAY_DIRECTORY.match(name)
    return match["topic"] if match else None


def is_deleted_directory(name: str) -> bool:
    """Return whether the directory ``name`` holds a log to be deleted."""
    return _DELETED_DIRECTORY.match(name) is not None


def parse_partition_directory(name: str) -> TopicPartition | None:
    """Return the partition of the directory ``name``, or None if it is no partition's."""
    match = _PARTITION_DIRECTORY.match(name)
    if match is None or int(match["partition"]) > MAX_PARTITION:
        return None
    return TopicPartition(match["topic"], int(match["partition"]))


def parse_future_directory(name: str) -> TopicPartition | None:
    """Return the partition of the future log in the directory ``name``, or None if it is no such one."""
    match = _FUTURE_DIRECTORY.match(name)
    return None if match is None else parse_partition_directory(match["name"])
