"""How files and directories of a log are called (``core/log/Log.scala`` of Kafka 2.8)."""

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
TEMPORARY_SUFFIX = ".tmp"

SEGMENT_SUFFIXES = (LOG_SUFFIX, INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX)
"""The files of one segment."""

LEADER_EPOCH_CHECKPOINT = "leader-epoch-checkpoint"

TOPIC_IDENTITY_CHECKPOINT = "topic-identity-checkpoint"
"""Not Kafka's, which leaves a file of this name alone and deletes it with the log."""

MAX_NAME_LENGTH = 255
"""Of a file's name, in bytes: what common file systems take."""

MAX_PARTITION = 2**31 - 1
MAX_OFFSET = 2**63 - 1
"""The largest numbers that the wire has room for; Kafka makes no file of a larger one."""

STRAY_SUFFIX = "-stray"
"""How the directory of a stray log ends (``LocalLog.StrayDirSuffix`` of Kafka 3.x)."""

_DELETED_DIRECTORY = re.compile(r"^(?P<name>\S+)\.[0-9a-f]{32}-delete$")
_STRAY_DIRECTORY = re.compile(rf"^(?P<topic>\S+)-[0-9]+\.[0-9a-f]{{32}}{STRAY_SUFFIX}$")
_PARTITION_DIRECTORY = re.compile(r"^(?P<topic>[a-zA-Z0-9._-]+)-(?P<partition>0|[1-9][0-9]{0,9})$")
_NAMED_BY_OFFSET = re.compile(r"^[0-9]{20}\.", re.ASCII)


def segment_file(directory: Path, base_offset: int, suffix: str) -> Path:
    """Return the segment's file of that kind: its base offset in 20 digits, and the suffix."""
    return directory / f"{base_offset:020d}{suffix}"


def offset_of(path: Path) -> Offset:
    """Return the offset that one of ``files_with`` is named by."""
    return Offset(int(path.name.split(".", 1)[0]))


def files_with(directory: Path, suffix: str) -> list[Path]:
    """Return the files in a partition's directory that are named by an offset and end so, by offset.

    Files that somebody else put there, under names that Kafka does not give, are not among them: taken for
    what they resemble, ``5.log`` would be the segment at offset 5 a second time.
    """
    return sorted(path for path in directory.glob(f"*{suffix}") if _is_named_by_offset(path))


def _is_named_by_offset(path: Path) -> bool:
    return _NAMED_BY_OFFSET.match(path.name) is not None and offset_of(path) <= MAX_OFFSET


def partition_directory(topic_partition: TopicPartition) -> str:
    """Return the name of a partition's directory."""
    return str(topic_partition)


def deleted_directory(topic_partition: TopicPartition) -> str:
    """A new name for a partition's directory that waits for its removal, cut to what a file system takes."""
    return _unique(topic_partition, "-delete")


def stray_directory(topic_partition: TopicPartition) -> str:
    """Return a new name for the directory of a stray log, cut to what a file system takes."""
    return _unique(topic_partition, STRAY_SUFFIX)


def _unique(topic_partition: TopicPartition, ending: str) -> str:
    suffix = f"-{topic_partition.partition}.{uuid4().hex}{ending}"
    kept = topic_partition.topic.encode()[: MAX_NAME_LENGTH - len(suffix)]
    return kept.decode(errors="ignore") + suffix


def stray_topic(name: str) -> str | None:
    """Return the topic of the stray log in the directory ``name``, or None if that holds none."""
    match = _STRAY_DIRECTORY.match(name)
    return match["topic"] if match else None


def is_deleted_directory(name: str) -> bool:
    """Return whether a directory waits for its removal."""
    return _DELETED_DIRECTORY.match(name) is not None


def parse_partition_directory(name: str) -> TopicPartition | None:
    """Return the partition whose directory is called ``name``, or None if it is none's."""
    match = _PARTITION_DIRECTORY.match(name)
    if match is None or int(match["partition"]) > MAX_PARTITION:
        return None
    return TopicPartition(match["topic"], int(match["partition"]))
