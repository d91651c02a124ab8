"""The verification of a segment's batches, a piece at a time, while the log is in use.

A read checks only that a batch begins where one should; checksums are verified when batches are written, and
here. Kafka has no such check: only a consumer's read finds a batch that the disk has damaged.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import BatchHeader
from barnabas.broker.disk.files import Descriptor, open_to_read
from barnabas.broker.disk.names import INDEX_SUFFIX
from barnabas.broker.disk.segment.index import OffsetIndex, OffsetPosition
from barnabas.broker.disk.segment.salvage import Boundary, Salvage
from barnabas.broker.disk.segment.scan import whole_batches_of
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


def end_of_damage(
    damaged: Iterable[DamagedRange], entry: OffsetPosition, key: int, *, is_offset: bool
) -> int | None:
    """Return the position where the last damage between an index entry and ``key`` ends; None without any.

    Headers do not lead over damage, and the next index entry may lie after ``key``.

    Args:
        damaged: The damage of the segment, in order.
        entry: The last entry up to ``key``.
        key: What is looked for: an offset or a position.
        is_offset: Whether it is an offset.
    """
    ends = [each for each in damaged if each.end_position > entry.position]
    passed = [each for each in ends if (each.end_offset if is_offset else each.end_position) <= key]
    return passed[-1].end_position if passed else None


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
        self._steps: Iterator[int] | None = None

    def read_on(self, max_bytes: int) -> int:
        """Check the next batches, about ``max_bytes`` bytes.

        Return the number of bytes checked, 0 at the end.

        Raises:
            OSError: The disk refused.
        """
        steps = self._steps
        if steps is None:
            try:
                steps = self._steps = self._run(Descriptor(open_to_read(self._span.path)))
            except FileNotFoundError:
                self.is_finished = True
                return 0  # Retention or a truncation has removed the segment.
        done = 0
        while done < max_bytes:
            size = next(steps, 0)
            if not size:
                self.is_finished = True
                break
            done += size
        return done

    def close(self) -> None:
        """Close the file, after the piece that is being read on another thread."""
        self._steps = None

    def _run(self, fd: int) -> Iterator[int]:
        """Yield the size of each checked batch, and of what was read to get past damage."""
        span, position, expected = self._span, 0, self._span.base_offset
        epoch = UNKNOWN_LEADER_EPOCH
        while position < span.size:
            before_gap = None
            for at, batch in whole_batches_of(fd, position, span.size):
                header = batch.header
                if not expected <= header.base_offset <= header.last_offset < span.end_offset:
                    # The checksum does not cover the base offset: after a gap, the batch before may be wrong.
                    if before_gap is not None and before_gap.offset <= header.base_offset < expected:
                        position, expected = before_gap
                    break
                # Nor does it cover the leader epoch: a wrong one would mislead truncation.
                if not self._may_follow(epoch, header.partition_leader_epoch):
                    break
                before_gap = Boundary(at, expected) if header.base_offset > expected else None
                epoch = max(epoch, LeaderEpoch(header.partition_leader_epoch))
                position, expected = at + header.size, Offset(header.next_offset)
                yield header.size
            if position >= span.size:
                return
            end_position, end_offset = yield from self._find_next(fd, position, expected)
            self.damaged.append(DamagedRange(position, end_position, expected, end_offset))
            position, expected = end_position, end_offset
            epoch = UNKNOWN_LEADER_EPOCH  # the epoch before the damage may be damaged itself

    def _may_follow(self, before: LeaderEpoch, epoch: int) -> bool:
        """Return whether a batch of ``epoch`` may follow one of ``before``: epochs never fall in a log."""
        latest = self._span.latest_epoch
        is_past = latest is None or epoch <= latest
        return epoch == UNKNOWN_LEADER_EPOCH or (before <= epoch and is_past)

    def _find_next(self, fd: int, damaged: int, expected: Offset) -> Generator[int, None, Boundary]:
        """Return the first valid batch after ``damaged``, or the segment's end.

        Yields the numbers of bytes that were read.
        """
        salvage, end = Salvage(fd, self._may_hold), Boundary(self._span.size, self._span.end_offset)
        # The index may be damaged, too: an entry counts if a valid batch begins there.
        for entry in self._entries_after(damaged):
            header = salvage.is_valid(entry.position, end, expected)
            if header is not None and self._is_of(entry, header, salvage, end):
                end = Boundary(entry.position, Offset(header.base_offset))
                break
        found = yield from salvage.find(damaged, expected, end)
        yield 1  # at least one byte of progress is reported for each damaged range
        return found

    def _is_of(self, entry: OffsetPosition, header: BatchHeader, salvage: Salvage, end: Boundary) -> bool:
        """Return whether an index entry is of the batch at its position, whose base offset may be damaged.

        An entry has the last offset of the batches that were appended together, which go on where the first
        one ends.
        """
        if header.last_offset >= entry.offset:
            return header.base_offset <= entry.offset
        following = salvage.is_valid(entry.position + header.size, end, Offset(header.next_offset))
        return following is not None and following.base_offset == header.next_offset

    def _may_hold(self, header: BatchHeader, expected: Offset, end_offset: Offset) -> bool:
        is_between = expected <= header.base_offset <= header.last_offset < end_offset
        return is_between and self._may_follow(UNKNOWN_LEADER_EPOCH, header.partition_leader_epoch)

    def _entries_after(self, position: int) -> list[OffsetPosition]:
        index = OffsetIndex(self._span.path.with_suffix(INDEX_SUFFIX), self._span.base_offset, UNBOUNDED)
        entries = index.all_entries() if index.load() else ()
        return sorted((each for each in entries if each.position > position), key=lambda each: each.position)
