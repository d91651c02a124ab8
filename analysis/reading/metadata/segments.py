"""The files of a metadata log: which to read, and the records in their batches.

Source: ``DefaultRecordBatch.java`` (batches of magic 2) and KIP-630 (snapshots: the file
``<offset>-<epoch>.checkpoint`` holds the state of all records below the offset).
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from barnabas.analysis.reading.files.encodings import DamagedError
from barnabas.analysis.reading.metadata.checksum import crc32c
from barnabas.analysis.reading.metadata.schemas import Cursor, MetadataError

PROPERTIES = "meta.properties"
"""The file beside the folder of a metadata log that names the cluster."""

FOLDER = "__cluster_metadata-0"

METADATA = "__cluster_metadata"

_OF_RAFT = (2, 3)
"""The types of control records that only raft writes: who became the leader, and a snapshot's header."""

_SEGMENT = re.compile(r"(\d{20})\.log", re.ASCII)
_SNAPSHOT = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_CLUSTER = re.compile(r"^cluster\.id=(\S+)", re.MULTILINE)

_HEADER = struct.Struct(">qiibIhiqqqhii")
"""A batch's header: base offset, length, leader epoch, magic, CRC, attributes, last offset delta, ..."""

_BEFORE_LENGTH = 12
_CRC_BEGIN = 21
_MAGIC = 2
_COMPRESSION, _CONTROL = 0x07, 0x20
_BATCH_MAX = 64 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Batch:
    """A batch of records.

    Attributes:
        offset: The offset of its first record.
        epoch: The epoch of the controller that wrote it.
        timestamp_ms: The time of its first record, in milliseconds since 1970.
        is_control: Whether its records are raft's own.
        count: The number of its records.
        body: Its records, encoded.
        next_offset: The offset after that of its last record.
    """

    offset: int
    epoch: int
    timestamp_ms: int
    is_control: bool
    count: int
    body: bytes
    next_offset: int


@dataclass(frozen=True, slots=True)
class Record:
    """A record of a batch.

    Attributes:
        offset: Its offset.
        epoch: The epoch of the controller that wrote it.
        timestamp_ms: Its time, in milliseconds since 1970.
        control: The type of a control record; None for the others.
        value: Its value.
    """

    offset: int
    epoch: int
    timestamp_ms: int
    control: int | None
    value: bytes


def is_segment(path: Path) -> bool:
    """Return whether a path is that of a segment of a metadata log."""
    return path.parent.name == FOLDER and _SEGMENT.fullmatch(path.name) is not None


def is_part(path: Path) -> bool:
    """Return whether a path is that of a segment or a snapshot of a metadata log."""
    return is_segment(path) or (path.parent.name == FOLDER and _SNAPSHOT.fullmatch(path.name) is not None)


def chosen(segments: Iterable[Path]) -> list[Path]:
    """Return one segment for each metadata log to read; it stands for all segments of its folder.

    All nodes of a cluster have a copy of its log. Of those with one cluster id (``meta.properties`` in the
    folder above), the copy that ends at the highest epoch and offset is read. Copies without an id are all
    read.
    """
    return [min(_numbered(copies[0][1].parent, _SEGMENT))[1] for copies in _copies(segments)]


def alone_from(segments: Iterable[Path]) -> list[tuple[Path, int]]:
    """Return the last segments of copies that end later than all others, and from which offset they do.

    A record is committed when a majority has it, and no file says up to which offset that is: the end of the
    longest copy may have been truncated later. Of a copy that is the only one nothing is said. Equal epochs
    have equal batches (KIP-595), so copies are compared by their last epochs and offsets.
    """
    found = []
    for (end, last), *others in _copies(segments):
        shared = max((_shared(last, other) for other, _ in others), default=end[1])
        if shared < end[1]:
            found.append((last, shared))
    return found


def _copies(segments: Iterable[Path]) -> list[list[tuple[tuple[int, int], Path]]]:
    """Return each cluster's copies by their ends (epoch, offset) and last segments, the longest first."""
    known: dict[str, list[tuple[tuple[int, int], Path]]] = {}
    for folder in dict.fromkeys(path.parent for path in segments):
        last = max(_numbered(folder, _SEGMENT))[1]
        known.setdefault(cluster_of(folder) or str(folder), []).append((_end(last), last))
    return [sorted(copies, key=lambda each: each[0], reverse=True) for copies in known.values()]


def _shared(segment: Path, end: tuple[int, int]) -> int:
    """Return the offset up to which a segment has the batches of a copy with this end."""
    shared = int(segment.stem)
    try:
        with segment.open("rb") as file:
            for batch in batches(file):
                if batch.epoch > end[0] or batch.next_offset > end[1]:
                    break
                shared = batch.next_offset
    except (OSError, DamagedError):
        # The end is read as far as that, too.
        return shared
    return shared


def snapshot_of(folder: Path) -> tuple[int, Path] | None:
    """Return the snapshot from which the history in the segments goes on, and its offset.

    None if the segments begin at offset 0, or if no snapshot is that young.
    """
    begin = min(_numbered(folder, _SEGMENT))[0]
    younger = [(offset, path) for offset, path in _numbered(folder, _SNAPSHOT) if offset >= begin]
    return min(younger) if begin and younger else None


def epoch_of(snapshot: Path) -> int:
    """Return the controller epoch of the last record that a snapshot holds, by its name."""
    return int(snapshot.stem.partition("-")[2])


def segments_of(folder: Path) -> list[Path]:
    """Return the segments of a metadata log by their offsets."""
    return [path for _, path in sorted(_numbered(folder, _SEGMENT))]


def batches(file: BinaryIO) -> Iterator[Batch]:
    """Read the batches of a segment or snapshot.

    A segment may end in zero bytes, which the broker reserved and has not written yet.

    Raises:
        OSError: The file cannot be read.
        DamagedError: A batch is torn or damaged, or is of another format.
    """
    while header := file.read(_HEADER.size):
        if not header.strip(b"\0"):
            return
        if len(header) < _HEADER.size:
            raise DamagedError("the last batch of the metadata log is torn")
        offset, length, epoch, magic, crc, attributes, delta, stamp, *_, count = _HEADER.unpack(header)
        size = length - (_HEADER.size - _BEFORE_LENGTH)
        if magic != _MAGIC or not 0 <= size <= _BATCH_MAX or attributes & _COMPRESSION:
            raise DamagedError(f"expected an uncompressed batch of magic {_MAGIC} after offset {offset}")
        body = file.read(size)
        if len(body) < size:
            raise DamagedError("the last batch of the metadata log is torn")
        if crc32c(body, crc32c(header[_CRC_BEGIN:])) != crc:
            raise DamagedError(f"the checksum of the batch at offset {offset} is wrong")
        yield Batch(offset, epoch, stamp, bool(attributes & _CONTROL), count, body, offset + delta + 1)


def records(batch: Batch) -> Iterator[Record]:
    """Read the records of a batch.

    Raises:
        MetadataError: The batch holds something else.
    """
    cursor = Cursor(batch.body)
    for _ in range(batch.count):
        end = cursor.zigzag() + cursor.at
        cursor.take(1)
        stamp, offset = batch.timestamp_ms + cursor.zigzag(), batch.offset + cursor.zigzag()
        key = cursor.take(max(cursor.zigzag(), 0))
        value = cursor.take(max(cursor.zigzag(), 0))
        control = (
            struct.unpack(">hh", key[:4])[1]
            if batch.is_control and len(key) >= struct.calcsize(">hh")
            else None
        )
        yield Record(offset, batch.epoch, stamp, control, value)
        if end < cursor.at:
            raise MetadataError(f"the record at offset {offset} is longer than it says")
        cursor.take(end - cursor.at)


def segment_kind(path: Path) -> str | None:
    """Return of what a file is a segment, whatever its name; None if it does not begin with a batch.

    Raft writes who became the leader first of all; of a later segment only the name of its folder says of
    which log it is.
    """
    try:
        with path.open("rb") as file:
            first = next(batches(file), None)
            if first is None:
                return None
            is_of_raft = any(record.control in _OF_RAFT for record in records(first))
    except (OSError, DamagedError, MetadataError):
        return None
    return METADATA if is_of_raft else f"a partition, perhaps {METADATA}"


def _numbered(folder: Path, pattern: re.Pattern[str]) -> list[tuple[int, Path]]:
    return [(int(found[1]), path) for path in folder.iterdir() if (found := pattern.fullmatch(path.name))]


def _end(segment: Path) -> tuple[int, int]:
    """Return the epoch and the offset of a segment's last batch."""
    last = (-1, -1)
    try:
        with segment.open("rb") as file:
            for batch in batches(file):
                last = batch.epoch, batch.next_offset
    except (OSError, DamagedError):
        # The file is read as far as possible.
        return last
    return last


def cluster_of(folder: Path) -> str | None:
    """Return the id of the cluster whose metadata log is in a folder; None if no file beside it has it."""
    try:
        found = _CLUSTER.search((folder.parent / PROPERTIES).read_text(errors="replace"))
    except OSError:
        return None
    return None if found is None else found[1]
