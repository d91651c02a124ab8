"""The search for the first valid batch behind damage in a segment's file.

The index cannot lead there alone: its entries lie some KB apart, so valid batches before the next one would
count as lost, and a damaged disk may have damaged the index, too. So the bytes are searched.

A record may hold bytes that look like a batch, for example a part of another log. What surrounds a batch of
this log distinguishes it from those: valid batches lead from it to a place that is known to be a boundary, or
at least its offsets fit between those of the batches around it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator
from typing import NamedTuple

from barnabas.broker.core.records.record_batch import (
    HEADER_SIZE,
    MAGIC,
    BatchHeader,
    RecordBatch,
    parse_header,
)
from barnabas.broker.disk.files import read_exactly
from barnabas.broker.disk.segment.scan import whole_batches_of
from barnabas.cluster.model.ids import Offset

CHUNK = 64 * 1024
"""The bytes searched at once: less than a millisecond for the other threads."""

_MAGIC_AT = 16
"""The position of the magic byte in a batch."""


class Boundary(NamedTuple):
    """A place where a batch of the log begins, or the log's segment ends.

    Attributes:
        position: The position in the file.
        offset: The base offset of the batch, or the segment's end.
    """

    position: int
    offset: Offset


class _Chain(NamedTuple):
    """Batches that follow one another.

    Attributes:
        start: The first one.
        end_position: The position after the last one.
        next_offset: The offset after the last one.
        second: The base offset of the second one, or of what comes after the only one.
        before_gap: The offset after the last but one if offsets are missing between it and the last one, else
            ``next_offset``.
    """

    start: Boundary
    end_position: int
    next_offset: Offset
    second: Offset
    before_gap: Offset

    def follows(self, before: _Chain) -> bool:
        """Return whether this one goes on where another one ends.

        No checksum covers base offsets. Where the two touch, the first one of this chain may be too low, and
        the last one of the other too high if it leaves a gap.
        """
        if before.end_position != self.start.position:
            return before.next_offset <= self.start.offset
        return before.before_gap <= self.second


class Salvage:
    """The search in one segment.

    Args:
        fd: The segment's file.
        may_hold: Whether the log may have a batch of this header between two offsets, the second exclusive.
    """

    def __init__(self, fd: int, may_hold: Callable[[BatchHeader, Offset, Offset], bool]) -> None:
        self._fd = fd
        self._may_hold = may_hold

    def is_valid(self, position: int, end: Boundary, expected: Offset) -> BatchHeader | None:
        """Return the header of the batch at ``position`` if it is valid and may lie there, else None.

        Args:
            position: Where it begins.
            end: Where it ends at the latest.
            expected: The lowest offset that it may begin with.
        """
        header = self._header(position, end, expected)
        if header is None:
            return None
        data = memoryview(read_exactly(self._fd, header.size, position))
        is_whole = len(data) == header.size and RecordBatch(header, data).has_valid_crc
        return header if is_whole else None

    def find(self, damaged: int, expected: Offset, end: Boundary) -> Generator[int, None, Boundary]:
        """Find the first valid batch after position ``damaged``; return ``end`` if none begins before it.

        Yields the numbers of bytes that were read, none of them 0.

        Args:
            damaged: The start of the damage.
            expected: The lowest offset that a batch after it may have.
            end: The next boundary that is known.
        """
        # A. The header of the damaged batch may be intact. Then it leads to the next one.
        header = self._header(damaged, end, expected)
        if header is not None:
            after = damaged + header.size
            following = self.is_valid(after, end, Offset(header.next_offset))
            yield header.size
            if following is not None:
                return Boundary(after, Offset(following.base_offset))
            if after == end.position:
                return end
        # B. Search. What leads on to the boundary is of this log. Other batches are if the offsets of what
        # comes after them go on: more damage has cut them off.
        doubtful: _Chain | None = None
        position = damaged + 1
        while position < end.position:
            found = yield from self._candidate(position, expected, end)
            if found is None:
                break
            chain = yield from self._chain(found, end)
            if doubtful is not None and chain.follows(doubtful):
                return doubtful.start
            if chain.end_position >= end.position:
                return chain.start
            doubtful, position = chain, chain.end_position
        return doubtful.start if doubtful is not None and doubtful.next_offset <= end.offset else end

    def _header(self, position: int, end: Boundary, expected: Offset) -> BatchHeader | None:
        """Return the header at ``position`` if a batch of the log may have it, else None."""
        data = read_exactly(self._fd, HEADER_SIZE, position) if position < end.position else b""
        if len(data) < HEADER_SIZE:
            return None
        header = parse_header(data)
        is_plausible = (
            header.magic == MAGIC
            and HEADER_SIZE <= header.size <= end.position - position
            and self._may_hold(header, expected, end.offset)
        )
        return header if is_plausible else None

    def _candidate(
        self, start: int, expected: Offset, end: Boundary
    ) -> Generator[int, None, Boundary | None]:
        """Find the first valid batch at position ``start`` or later."""
        # All base offsets between the two bounds begin with the same bytes, usually four or more.
        lowest, highest = (bound.to_bytes(8, "big") for bound in (expected, max(expected, end.offset - 1)))
        common = lowest[: next((at for at in range(8) if lowest[at] != highest[at]), 8)]
        pattern = re.compile(
            b"(?=%s.{%d}%s)" % (re.escape(common), _MAGIC_AT - len(common), re.escape(bytes([MAGIC]))),
            re.DOTALL,
        )
        for position in range(start, end.position, CHUNK):
            size = min(CHUNK, end.position - position)
            data = read_exactly(self._fd, size + _MAGIC_AT, position)
            for match in pattern.finditer(data):
                if match.start() >= size:
                    break
                header = self.is_valid(position + match.start(), end, expected)
                if header is not None:
                    return Boundary(position + match.start(), Offset(header.base_offset))
            yield size
        return None

    def _chain(self, start: Boundary, end: Boundary) -> Generator[int, None, _Chain]:
        """Follow the batches from ``start`` on: valid ones, and those whose header is valid."""
        position, expected = start
        second, before_gap = end.offset, expected
        while position < end.position:
            size = 0
            for at, header in self._valid_from(position, expected, end):
                if at > start.position:
                    second = min(second, Offset(header.base_offset))
                size, is_gap = header.size, header.base_offset > expected
                before_gap = expected if is_gap else Offset(header.next_offset)
                position, expected = at + size, Offset(header.next_offset)
                yield size
            damaged = self._header(position, end, expected)
            if damaged is None:
                break
            position, expected = position + damaged.size, Offset(damaged.next_offset)
            before_gap = expected
            yield damaged.size
        return _Chain(start, position, expected, second, before_gap)

    def _valid_from(
        self, position: int, expected: Offset, end: Boundary
    ) -> Iterator[tuple[int, BatchHeader]]:
        for at, batch in whole_batches_of(self._fd, position, end.position, CHUNK):
            if not self._may_hold(batch.header, expected, end.offset):
                return
            expected = Offset(batch.header.next_offset)
            yield at, batch.header
