"""What stands in a replica's segments, read from the files themselves: the judge trusts no broker's word.

Source: the record batch of message format v2 (KIP-98). Only headers are decoded; what is compared is each
batch's first offset, leader epoch, length and checksum.
"""

from __future__ import annotations

import re
import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from crc32c import crc32c

from barnabas.cluster.model.ids import BrokerId, TopicPartition

_HEADER = struct.Struct(">qiibI")  # base offset, length, leader epoch, magic, checksum
_LENGTH_FROM = 12
_LAST_OFFSET_DELTA = struct.Struct(">i")
_LAST_OFFSET_DELTA_AT = 23
_MAGIC = 2
_LEAST = 61
_PARTITION = re.compile(r"^([a-zA-Z0-9._-]+)-(\d+)$")
_SEGMENT = re.compile(r"^(\d{20})\.log$")


class Batch(NamedTuple):
    """A record batch as it stands on a disk.

    Attributes:
        base: Its first offset.
        end: The offset behind its last.
        epoch: The leader epoch it was written in.
        size: Its bytes.
        crc: The checksum that it names.
        is_sound: Whether its bytes have that checksum.
    """

    base: int
    end: int
    epoch: int
    size: int
    crc: int
    is_sound: bool


def batches(data: bytes) -> Iterator[Batch]:
    """The batches of a segment, up to the first bytes that are the header of none."""
    at = 0
    while at + _LEAST <= len(data):
        base, length, epoch, magic, crc = _HEADER.unpack_from(data, at)
        size = _LENGTH_FROM + length
        if magic != _MAGIC or size < _LEAST or at + size > len(data):
            return
        (delta,) = _LAST_OFFSET_DELTA.unpack_from(data, at + _LAST_OFFSET_DELTA_AT)
        is_sound = crc32c(memoryview(data)[at + _HEADER.size : at + size]) == crc
        yield Batch(base, base + delta + 1, epoch, size, crc, is_sound)
        at += size


def segments_of(log_dirs: Iterable[Path], tp: TopicPartition) -> list[Path]:
    """The segments of a replica, in the order of their offsets; none where it is not there."""
    logs = [directory / f"{tp.topic}-{tp.partition}" for directory in log_dirs]
    found = [file for log in logs if log.is_dir() for file in log.iterdir() if _SEGMENT.match(file.name)]
    return sorted(found, key=lambda file: file.name)


def base_of(segment: Path) -> int:
    """The offset that a segment's name tells."""
    return int(segment.stem)


def partitions_in(log_dirs: Iterable[Path]) -> list[TopicPartition]:
    """Whose replicas lie in log directories; not those that are being deleted, moved or were put aside."""
    names = {log.name for directory in log_dirs for log in directory.iterdir() if log.is_dir()}
    found = [match for name in names if (match := _PARTITION.match(name)) is not None]
    return sorted(TopicPartition(match[1], int(match[2])) for match in found)


def replica(log_dirs: Iterable[Path], tp: TopicPartition) -> list[Batch]:
    """All batches of a replica, as far as they can be told apart.

    A segment that is deleted meanwhile is left out.
    """
    found: list[Batch] = []
    for segment in segments_of(log_dirs, tp):
        try:
            found += batches(segment.read_bytes())
        except FileNotFoundError:
            continue
    return found


def faults_in(found: Sequence[Batch], start: int, end: int) -> str:
    """What keeps batches from being all records from ``start`` on below ``end``, in words, or nothing."""
    offset = start
    for batch in found:
        if batch.end <= start:
            continue
        if offset >= end:
            break
        if batch.base != offset and offset > start:
            return f"offset {offset} is followed by {batch.base}"
        if batch.base > offset:
            return f"offsets {offset} to {batch.base - 1} are missing"
        if not batch.is_sound:
            return f"the batch at offset {batch.base} has another checksum than it says"
        offset = batch.end
    return f"offsets {offset} to {end - 1} are missing" if offset < end else ""


def differences(replicas: Mapping[BrokerId, Sequence[Batch]], start: int, end: int) -> list[str]:
    """How replicas of a partition differ below ``end``: a line for each that is not whole, or is another's.

    Args:
        replicas: Each broker's batches.
        start: The first offset that matters.
        end: The offset behind the last that matters.
    """
    lines: list[str] = []
    whole: dict[BrokerId, list[Batch]] = {}
    for broker, found in sorted(replicas.items()):
        fault = faults_in(found, start, end)
        if fault:
            lines.append(f"on broker {broker} {fault}")
        else:
            whole[broker] = [batch for batch in found if batch.end > start and batch.base < end]
    for (one, mine), (other, theirs) in zip([*whole.items()], [*whole.items()][1:], strict=False):
        pair = next((pair for pair in zip(mine, theirs, strict=False) if pair[0] != pair[1]), None)
        if pair is not None:
            lines.append(f"broker {one} has {_told(pair[0])}, broker {other} has {_told(pair[1])}")
    return lines


def _told(batch: Batch) -> str:
    return f"offsets {batch.base} to {batch.end - 1} of epoch {batch.epoch} with checksum {batch.crc:#010x}"
