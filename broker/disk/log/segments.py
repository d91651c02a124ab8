"""The segments of one log, in order, and the search for a batch in them."""

from __future__ import annotations

from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from barnabas.broker.disk.log.results import FoundRecords
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.ids import Offset

REMEMBERED_BOUNDARIES = 512
"""The number of batch boundaries remembered: of the last appends, and of the ends of the last reads."""

LOADED_INDEXES = 4
"""The number of older segments whose indexes stay in memory after a lookup."""


class LogPosition(NamedTuple):
    """The place of a batch.

    Attributes:
        segment: The segment that holds it.
        position: Its position in the segment's file.
        offset: Its base offset, or the requested offset if no batch holds it (the log's end).
    """

    segment: LogSegment
    position: int
    offset: Offset


class LogSegments:
    """The segments by base offset, one at least; the last one is active: batches are appended to it.

    A fetch of a follower, or of a consumer up to the high watermark, usually begins and ends where a recent
    append or read ended. Such boundaries are remembered, so that index and file are read only for other
    offsets.
    """

    def __init__(self, segments: Iterable[LogSegment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.base_offset)
        self._bases = [segment.base_offset for segment in self._segments]
        self._boundaries: OrderedDict[int, tuple[LogSegment, int]] = OrderedDict()
        self._loaded: OrderedDict[int, LogSegment] = OrderedDict()

    def __iter__(self) -> Iterator[LogSegment]:
        return iter(self._segments)

    def __len__(self) -> int:
        return len(self._segments)

    @property
    def active(self) -> LogSegment:
        """The last segment."""
        return self._segments[-1]

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return sum(segment.size for segment in self._segments)

    def add(self, segment: LogSegment) -> None:
        """Add a segment with a base offset above all others; it becomes the active one."""
        self._segments.append(segment)
        self._bases.append(segment.base_offset)

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment whose range holds ``offset``, and all later ones."""
        return self._segments[max(0, bisect_right(self._bases, offset) - 1) :]

    def holding(self, path: Path) -> LogSegment:
        """Return the segment of this file."""
        return next(segment for segment in self._segments if segment.path == path)

    def remove_from(self, base_offset: int) -> list[LogSegment]:
        """Remove the segments of that base offset and above from the list; the caller deletes them."""
        keep = bisect_right(self._bases, base_offset - 1)
        removed = self._segments[keep:]
        del self._segments[keep:], self._bases[keep:]
        self.forget()
        return removed

    def exchange(self, formers: Sequence[LogSegment], new: LogSegment) -> None:
        """Replace neighbours, none of them active, by ``new`` of the first one's base offset."""
        first = self._segments.index(formers[0])
        self._segments[first : first + len(formers)] = [new]
        self._bases[first : first + len(formers)] = [new.base_offset]
        self.forget()

    def remove_first(self, count: int) -> list[LogSegment]:
        """Remove the oldest ``count`` segments, not all, from the list; the caller deletes them."""
        removed = self._segments[:count]
        del self._segments[:count], self._bases[:count]
        first = self._bases[0]
        self._boundaries = OrderedDict(
            (offset, place) for offset, place in self._boundaries.items() if offset >= first
        )
        for segment in removed:
            self._loaded.pop(segment.base_offset, None)
        return removed

    def forget(self) -> None:
        """Forget all remembered boundaries: the log was truncated."""
        self._boundaries.clear()
        self._loaded.clear()

    def remember(self, offset: int, segment: LogSegment, position: int) -> None:
        """Note that the batch with base offset ``offset`` begins at ``position``; never a segment's end."""
        boundaries = self._boundaries
        boundaries[offset] = (segment, position)
        if len(boundaries) > REMEMBERED_BOUNDARIES:
            boundaries.popitem(last=False)

    def locate(self, offset: Offset) -> LogPosition:
        """Return the first batch whose last offset is ``offset`` or above; else the end of the log."""
        known = self._boundaries.get(offset)
        if known is not None:
            return LogPosition(*known, offset)
        for segment in self.from_offset(offset):
            found = segment.locate(offset)
            self._keep_loaded(segment)
            if found is not None:
                return LogPosition(segment, found.position, Offset(found.header.base_offset))
        return LogPosition(self.active, self.active.size, offset)

    def read(
        self, start: LogPosition, end: int, max_bytes: int, *, min_one_batch: bool
    ) -> FoundRecords | None:
        """Find whole batches from ``start`` to position ``end`` of its segment, both batch boundaries.

        If they are more than ``max_bytes``, the last boundary within that is searched from the index entry
        before it, so that one exact read suffices. None means that all of them fit.
        """
        segment, limit = start.segment, start.position + max_bytes
        if end <= limit:
            return None
        near = segment.headers_near(limit, start.position)
        self._keep_loaded(segment)
        for position, header in near:
            if position + header.size <= limit:
                continue
            if position > start.position:
                cut, next_offset = position, Offset(header.base_offset)
            elif min_one_batch:
                cut, next_offset = position + header.size, Offset(header.next_offset)
            else:
                break
            if cut < end:
                self.remember(next_offset, segment, cut)
            return FoundRecords(segment.records(start.position, cut - start.position), next_offset)
        return FoundRecords(b"", start.offset)

    def are_in_one(self, first: int, last: int) -> bool:
        """Return whether both offsets lie in the range of the same segment."""
        return bisect_right(self._bases, first) == bisect_right(self._bases, last)

    def bytes_between(self, start: LogPosition, end: LogPosition) -> int:
        """Return the bytes between two positions, the later one second."""
        if start.segment is end.segment:
            return end.position - start.position
        first = bisect_right(self._bases, start.segment.base_offset)
        last = bisect_right(self._bases, end.segment.base_offset) - 1
        between = sum(segment.size for segment in self._segments[first:last])
        return start.segment.size - start.position + between + end.position

    def end_of(self, segment: LogSegment, log_end_offset: Offset) -> Offset:
        """Return the end offset of ``segment``: the next segment's base, or the log's end."""
        following = bisect_right(self._bases, segment.base_offset)
        return self._bases[following] if following < len(self._bases) else log_end_offset

    def _keep_loaded(self, segment: LogSegment) -> None:
        if segment is self.active:
            return
        self._loaded[segment.base_offset] = segment
        self._loaded.move_to_end(segment.base_offset)
        if len(self._loaded) > LOADED_INDEXES:
            self._loaded.popitem(last=False)[1].unload_indexes()
