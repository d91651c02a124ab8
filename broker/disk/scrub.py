"""The verification of a segment's batches, a piece at a time, while the log is in use.

A read checks only that a batch begins where one should; checksums are verified when batches are written, and
here. Kafka has no such check: only a consumer's read finds a batch that the disk has damaged.
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
"""An index size that is never reached: the file is read in its actual size."""


class DamagedRange(NamedTuple):
    """A range of a segment without valid batches, and the offsets lost with it.

    Attributes:
        position: The first byte.
        end_position: The byte after the last: a valid batch begins there, or the segment ends.
        first_offset: The offset after the last valid batch before it.
        end_offset: The first offset of the valid batch after it, or the segment's end.
    """

    position: int
    end_position: int
    first_offset: Offset
    end_offset: Offset

    def __str__(self) -> str:
        lost = f"offsets {self.first_offset} to {self.end_offset - 1}"
        return f"byte {self.position} to {self.end_position}, {lost}"


class SegmentSpan(NamedTuple):
    """The extent of a log's segment at one time.

    Attributes:
        path: Its file.
        base_offset: Its first offset.
        end_offset: The next segment's base, or the log's end.
        size: Bytes of batches.
        generation: The number of the log's truncations and repairs so far; the file does not change below
            ``size`` within one generation.
        latest_epoch: The log's latest leader epoch, or None if it has none.
    """

    path: Path
    base_offset: Offset
    end_offset: Offset
    size: int
    generation: int
    latest_epoch: LeaderEpoch | None = None


class SegmentCheck:
    """The check of one segment, on a thread that may wait for the disk.

    A truncation may change the file in the meantime, so ``Log.note_damage`` accepts the result only if the
    log is still of the same generation.

    Attributes:
        damaged: The damage found so far.
        is_finished: Whether the whole segment has been checked, or its file is gone.
    """

    def __init__(self, span: SegmentSpan) -> None:
        self.damaged: list[DamagedRange] = []
        self.is_finished = False
        self._span = span
        self._fd: int | None = None
        self._steps: Iterator[int] | None = None

    def read_on(self, max_bytes: int) -> int:
        """Check the next batches, about ``max_bytes`` bytes.

        Return the number of bytes checked, 0 at the end.

        Raises:
            OSError: The disk refused.
        """
        if self._steps is None:
            try:
                self._fd = open_to_read(self._span.path)
            except FileNotFoundError:
                self.is_finished = True
                return 0  # Retention or a truncation has removed the segment.
            self._steps = self._run(self._fd)
        done = 0
        while done < max_bytes:
            size = next(self._steps, 0)
            if not size:
                self.is_finished = True
                break
            done += size
        return done

    def close(self) -> None:
        """Close the file."""
        if self._fd is not None:
            close_file(self._fd)
            self._fd = None

    def _run(self, fd: int) -> Iterator[int]:
        """Yield the size of each checked batch, and of each damaged range."""
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
            epoch = UNKNOWN_LEADER_EPOCH  # the epoch before the damage may be damaged itself

    def _may_follow(self, before: LeaderEpoch, epoch: int) -> bool:
        """Return whether a batch of ``epoch`` may follow one of ``before``: epochs never fall in a log."""
        latest = self._span.latest_epoch
        is_past = latest is None or epoch <= latest
        return epoch == UNKNOWN_LEADER_EPOCH or (before <= epoch and is_past)

    def _find_next(self, fd: int, damaged: int, expected: Offset) -> tuple[int, Offset]:
        """Return position and offset of the first valid batch in the index after ``damaged``.

        Without one, these are the segment's end.
        """
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
