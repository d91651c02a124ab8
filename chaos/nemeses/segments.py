"""The content of a replica's segments, read from the files without asking a broker.

Only the headers of record batches are decoded (message format v2, KIP-98). Replicas are compared by each
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
    """A record batch on a disk.

    Attributes:
        base: The first offset.
        end: The offset after the last one.
        epoch: The leader epoch in which the batch was written.
        size: The number of bytes.
        crc: The checksum in the header.
        is_sound: Whether the bytes have that checksum.
    """

    base: int
    end: int
    epoch: int
    size: int
    crc: int
    is_sound: bool


def batches(data: bytes) -> Iterator[Batch]:
    """Read the batches of a segment, up to the first bytes that are not a batch's header."""
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
    """List the segments of a replica in the order of their offsets; empty if there is no replica."""
    logs = [directory / f"{tp.topic}-{tp.partition}" for directory in log_dirs]
    found = [file for log in logs if log.is_dir() for file in log.iterdir() if _SEGMENT.match(file.name)]
    return sorted(found, key=lambda file: file.name)


def base_of(segment: Path) -> int:
    """Return the offset in a segment's name."""
    return int(segment.stem)


def partitions_in(log_dirs: Iterable[Path]) -> list[TopicPartition]:
    """List the partitions with replicas in log directories, except deleted, moved and stray ones."""
    names = {log.name for directory in log_dirs for log in directory.iterdir() if log.is_dir()}
    found = [match for name in names if (match := _PARTITION.match(name)) is not None]
    return sorted(TopicPartition(match[1], int(match[2])) for match in found)


def replica(log_dirs: Iterable[Path], tp: TopicPartition) -> list[Batch]:
    """Read all batches of a replica, as far as headers are intact.

    A segment that is deleted meanwhile is skipped.
    """
    found: list[Batch] = []
    for segment in segments_of(log_dirs, tp):
        try:
            found += batches(segment.read_bytes())
        except FileNotFoundError:
            continue
    return found


def faults_in(found: Sequence[Batch], start: int, end: int) -> str:
    """Return why batches do not hold all records from ``start`` to before ``end``; empty if they do."""
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
            return f"the batch at offset {batch.base} does not match its checksum"
        offset = batch.end
    return f"offsets {offset} to {end - 1} are missing" if offset < end else ""


def differences(replicas: Mapping[BrokerId, Sequence[Batch]], start: int, end: int) -> list[str]:
    """Compare the replicas of a partition below ``end``; return a line for each incomplete or different one.

    Args:
        replicas: Each broker's batches.
        start: The first offset that matters.
        end: The offset after the last one that matters.
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
            lines.append(f"broker {one} has {_described(pair[0])}, broker {other} has {_described(pair[1])}")
    return lines


def _described(batch: Batch) -> str:
    return f"offsets {batch.base} to {batch.end - 1} of epoch {batch.epoch} with checksum {batch.crc:#010x}"
