"""The results of a log's operations."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import RecordBatch
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset


@dataclass(frozen=True, slots=True)
class LogAppendInfo:
    """A completed append.

    Attributes:
        first_offset: The offset of the first record; for a duplicate, the offset of its first append.
        last_offset: The offset of the last record, likewise. Both are -1 if a follower was passed no whole
            batch.
        log_append_time: The broker's time in milliseconds on LogAppendTime topics, else -1.
        log_start_offset: The log's start.
        duplicate: Whether the batch of an idempotent producer was in the log already and nothing was written.
        size: The bytes written.
    """

    first_offset: Offset
    last_offset: Offset
    log_append_time: int
    log_start_offset: Offset
    duplicate: bool = False
    size: int = 0

    @property
    def required_offset(self) -> Offset:
        """The high watermark that acks=all waits for: the offset after the last record."""
        return Offset(self.last_offset + 1)


@dataclass(frozen=True, slots=True)
class FetchDataInfo:
    """A successful read.

    Attributes:
        records: Whole batches, the first of which holds the requested offset (and may begin below it). Empty
            if nothing lies between that offset and the upper bound, or nothing fits.
        next_offset: The offset after the last record in ``records``, or the requested offset if it is empty.
    """

    records: bytes
    next_offset: Offset


@dataclass(frozen=True, slots=True)
class FoundRecords:
    """A successful read as in ``FetchDataInfo``, with records that may still lie in their file."""

    records: bytes | FileRecords
    next_offset: Offset


@dataclass(frozen=True, slots=True)
class OffsetOutOfRange:
    """A read below the log's start or above its end."""

    offset: Offset
    log_start_offset: Offset
    log_end_offset: Offset

    error = ErrorCode.OFFSET_OUT_OF_RANGE

    def __str__(self) -> str:
        return f"offset {self.offset} is outside {self.log_start_offset} to {self.log_end_offset}, the log"


class FoundBatch(NamedTuple):
    """A batch that was read.

    Attributes:
        path: The file of its segment.
        position: Its position in the file.
        batch: The batch.
    """

    path: Path
    position: int
    batch: RecordBatch


class TimestampAndOffset(NamedTuple):
    """The first record at or after a time.

    Attributes:
        timestamp: Its timestamp in milliseconds.
        offset: Its offset.
        leader_epoch: The leader epoch it was written in, -1 if unknown.
    """

    timestamp: int
    offset: Offset
    leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
