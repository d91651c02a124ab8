"""Verifying a segment's batches a piece at a time, while the log is in use.

Reads check only that a batch begins where one should; its checksum is computed when it is written, and here.
Kafka has no such check: a batch that the disk has damaged is found by whoever reads it, if anybody does.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.core.record_batch import HEADER_SIZE, MAGIC, RecordBatch, parse_header
from barnabas.broker.disk.files import close_file, open_to_read, read_exactly
from barnabas.broker.disk.index import OffsetIndex, OffsetPosition
from barnabas.broker.disk.names import INDEX_SUFFIX
from barnabas.broker.disk.scan import whole_batches_of
from barnabas.cluster.model.epochs import UNKNOWN_LEADER_EPOCH, LeaderEpoch
from barnabas.cluster.model.ids import Offset

UNBOUNDED = 2**31 - 1
"""More bytes than an index may have: it is read as it is."""


class DamagedRange(NamedTuple):
    """Bytes of a segment that hold no right batch, and the offsets that are lost with them.

    Attributes:
        position: The first byte.
        end_position: The byte after the last: a right batch begins there, or the segment ends.
        first_offset: The offset after the last right batch before it.
        end_offset: The first offset of the right batch behind it, or the segment's end.
    """

    position: int
    end_position: int
    first_offset: Offset
    end_offset: Offset

    def __str__(self) -> str:
        lost = f"offsets {self.first_offset} to {self.end_offset - 1}"
        return f"byte {self.position} to {self.end_position}, {lost}"


class SegmentSpan(NamedTuple):
    """What a segment of a log covers at the moment.

    Attributes:
        path: Its file.
        base_offset: Its first offset.
        end_offset: The next segment's base, or the log's end.
        size: Bytes of batches.
        generation: How often the log had been truncated or repaired: below ``size`` the file stays as it is
            until the log's next generation.
        latest_epoch: The log's latest leader epoch, or None if it knows none.
    """

    path: Path
    base_offset: Offset
    end_offset: Offset
    size: int
    generation: int
    latest_epoch: LeaderEpoch | None = None


class SegmentCheck:
    """The check of one segment, on a thread that may wait for the disk.

    A truncation may change the file meanwhile, so ``Log.note_damage`` takes what was found only if the log is
    of the same generation still.

    Attributes:
        damaged: What was found so far.
    """

    def __init__(self, span: SegmentSpan) -> None:
        self.damaged: list[DamagedRange] = []
        self._span = span
        self._fd: int | None = None
        self._steps: Iterator[int] | None = None

    def read_on(self, max_bytes: int) -> int:
        """Check the next batches, some ``max_bytes`` of them; returns how many bytes, 0 at the end.

        Raises:
            OSError: The disk refused.
        """
        if self._steps is None:
            try:
                self._fd = open_to_read(self._span.path)
            except FileNotFoundError:
                return 0  # Retention or a truncation has taken the segment.
            self._steps = self._run(self._fd)
        done = 0
        while done < max_bytes:
            size = next(self._steps, 0)
            if not size:
                break
            done += size
        return done

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            close_file(self._fd)
            self._fd = None

    def _run(self, fd: int) -> Iterator[int]:
        """Yield the size of each batch that is checked, and of each damaged range."""
        span, position, expected = self._span, 0, self._span.base_offset
        epoch = UNKNOWN_LEADER_EPOCH
        while position < span.size:
            for at, batch in whole_batches_of(fd, position, span.size):
                header = batch.header
                if not expected <= header.base_offset <= header.last_offset < span.end_offset:
                    break
                # The checksum does not cover the leader epoch: a wrong one would mislead truncation.
                if not self._may_follow(epoch, header.partition_leader_epoch):
                    break
                epoch = max(epoch, LeaderEpoch(header.partition_leader_epoch))
                position, expected = at + header.size, Offset(header.next_offset)
                yield header.size
            if position >= span.size:
                return
            end_position, end_offset = self._find_next(fd, position, expected)
            self.damaged.append(DamagedRange(position, end_position, expected, end_offset))
            yield end_position - position
            position, expected = end_position, end_offset
            epoch = UNKNOWN_LEADER_EPOCH  # the one before the damage may have been the damage

    def _may_follow(self, before: LeaderEpoch, epoch: int) -> bool:
        """Whether a batch of ``epoch`` may stand behind those of ``before``: epochs never fall in a log."""
        latest = self._span.latest_epoch
        is_past = latest is None or epoch <= latest
        return epoch == UNKNOWN_LEADER_EPOCH or (before <= epoch and is_past)

    def _find_next(self, fd: int, damaged: int, expected: Offset) -> tuple[int, Offset]:
        """Where a right batch begins behind ``damaged``, as the index knows it, else the segment's end."""
        span = self._span
        for entry in self._index_entries():
            if entry.position <= damaged:
                continue
            head = read_exactly(fd, HEADER_SIZE, entry.position)
            if len(head) < HEADER_SIZE:
                break
            header = parse_header(head)
            is_plausible = (
                header.magic == MAGIC
                and HEADER_SIZE <= header.size <= span.size - entry.position
                and expected <= header.base_offset <= entry.offset
            )
            if is_plausible:
                data = memoryview(read_exactly(fd, header.size, entry.position))
                if RecordBatch(header, data).has_valid_crc:
                    return entry.position, Offset(header.base_offset)
        return span.size, span.end_offset

    def _index_entries(self) -> Iterator[OffsetPosition]:
        index = OffsetIndex(self._span.path.with_suffix(INDEX_SUFFIX), self._span.base_offset, UNBOUNDED)
        return iter(index.all_entries() if index.load() else ())
