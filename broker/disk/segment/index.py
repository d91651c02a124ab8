"""The two sparse indexes of a segment, in Kafka's file format.

Source: ``core/log/AbstractIndex.scala``, ``OffsetIndex.scala``, ``TimeIndex.scala`` of Kafka 2.8. The indexes
of the active segment are kept in memory; their files are preallocated with the first batch and stay unused,
because they are rebuilt after a crash anyway. They are written, at their true size, when the segment is
rolled or closed, and read again when a lookup needs them.
"""

from __future__ import annotations

import io
from bisect import bisect_right
from pathlib import Path
from struct import Struct
from typing import NamedTuple, Self

from barnabas.broker.core.records.record_batch import NO_TIMESTAMP
from barnabas.broker.disk.files import read_file, write_file, write_zeros
from barnabas.cluster.model.ids import Offset

MAX_RELATIVE_OFFSET = 2**31 - 1
"""The largest offset, relative to the segment's base, that fits into the four bytes of an entry."""


OFFSET_ENTRY = Struct(">ii")
"""An entry of an offset index: relative offset and position."""

TIME_ENTRY = Struct(">qi")
"""An entry of a time index: timestamp and relative offset."""


class OffsetPosition(NamedTuple):
    """An offset, and the position in the segment's file at which a scan for it begins."""

    offset: Offset
    position: int


class TimestampOffset(NamedTuple):
    """A timestamp, and the offset after which all larger timestamps lie."""

    timestamp: int
    offset: Offset


class SparseIndex:
    """Entries of one size, in ascending order: the base of both indexes.

    Attributes:
        path: The file.
        base_offset: The segment's base offset, to which offsets are relative.
    """

    _entry: Struct

    def __init__(self, path: Path, base_offset: Offset, max_bytes: int) -> None:
        self.path = path
        self.base_offset = base_offset
        self._max_bytes = max_bytes // self._entry.size * self._entry.size
        self._data: bytearray | None = bytearray()
        self._is_stored = False
        self._unloaded_count = 0
        self._unloaded_last = b""

    @property
    def size(self) -> int:
        """Bytes of the entries."""
        return len(self) * self._entry.size

    def __len__(self) -> int:
        return self._unloaded_count if self._data is None else len(self._data) // self._entry.size

    @property
    def _entries(self) -> bytearray:
        if self._data is None:
            self._data = bytearray(read_file(self.path))
        return self._data

    @property
    def is_full(self) -> bool:
        """Return whether no more entries can be appended."""
        return len(self._entries) >= self._max_bytes

    def preallocate(self) -> None:
        """Give the file its full size with unused content: the entries of an active segment are in memory."""
        self._data, self._is_stored = self._entries, False
        write_zeros(self.path, self._max_bytes)

    @property
    def is_stored(self) -> bool:
        """Return whether the file has the entries, as after the segment was rolled or closed."""
        return self._is_stored

    def emptied(self) -> Self:
        """Return an index without entries for the same file, which stays unchanged."""
        return type(self)(self.path, self.base_offset, self._max_bytes)

    def store(self) -> None:
        """Write the entries at their true size and flush the file: the segment is rolled or closed."""
        write_file(self.path, self._entries)
        self._is_stored = True

    def load(self) -> bool:
        """Check the file, whose entries are read when they are first needed; return False if it is invalid.

        A file is valid if it exists, has whole entries and does not end in an unused entry (zeros).
        """
        try:
            with self.path.open("rb") as file:
                size = file.seek(0, io.SEEK_END)
                file.seek(max(0, size - self._entry.size))
                last = file.read()
        except FileNotFoundError:
            return False
        if size and (size % self._entry.size or not any(last)):
            return False
        self._data, self._is_stored = None, True
        self._unloaded_count, self._unloaded_last = size // self._entry.size, last
        return True

    def unload(self) -> None:
        """Free the memory if the file has the entries; the next lookup reads them again."""
        if self._is_stored and self._data is not None:
            self._unloaded_count, self._unloaded_last = len(self), bytes(self._data[-self._entry.size :])
            self._data = None

    def hold(self) -> None:
        """Keep the entries in memory until ``release``: the file is about to be renamed."""
        self._data, self._is_stored = self._entries, False

    def release(self) -> None:
        """End ``hold``: the entries may be unloaded and read from the file again."""
        self._is_stored = True

    def clear(self) -> None:
        """Drop all entries."""
        self._data, self._is_stored = bytearray(), False

    def _keep(self, count: int) -> None:
        self._data, self._is_stored = self._entries[: count * self._entry.size], False

    def _at(self, slot: int) -> tuple[int, int]:
        if self._data is None and slot == self._unloaded_count - 1:
            first, second = self._entry.unpack(self._unloaded_last)
        else:
            first, second = self._entry.unpack_from(self._entries, slot * self._entry.size)
        return first, second


class OffsetIndex(SparseIndex):
    """The index from offsets to positions: 8-byte entries of int32 relative offset and int32 position."""

    _entry = OFFSET_ENTRY

    def append(self, offset: int, position: int) -> None:
        """Note that the batch whose last offset is ``offset`` lies at ``position``."""
        self._entries.extend(self._entry.pack(offset - self.base_offset, position))

    def lookup(self, offset: int) -> OffsetPosition:
        """Return the entry with the greatest offset up to ``offset``, else the segment's start."""
        return self._entry_before(
            bisect_right(range(len(self)), offset - self.base_offset, key=self._offset_at)
        )

    def lookup_position(self, position: int) -> OffsetPosition:
        """Return the entry with the greatest position up to ``position``, else the segment's start."""
        return self._entry_before(bisect_right(range(len(self)), position, key=self._position_at))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at ``offset`` or above."""
        self._keep(bisect_right(range(len(self)), offset - self.base_offset - 1, key=self._offset_at))

    def all_entries(self) -> list[OffsetPosition]:
        """Return every entry, by offset."""
        return [self._entry_before(slot) for slot in range(1, len(self) + 1)]

    @property
    def last_entry(self) -> OffsetPosition:
        """The last entry, else the segment's start."""
        return self._entry_before(len(self))

    def _entry_before(self, slot: int) -> OffsetPosition:
        if slot == 0:
            return OffsetPosition(self.base_offset, 0)
        relative, position = self._at(slot - 1)
        return OffsetPosition(Offset(self.base_offset + relative), position)

    def _offset_at(self, slot: int) -> int:
        return self._at(slot)[0]

    def _position_at(self, slot: int) -> int:
        return self._at(slot)[1]


class TimeIndex(SparseIndex):
    """The index from timestamps to offsets: 12-byte entries of int64 timestamp and int32 relative offset.

    One slot is kept free for the entry that is written when the segment is rolled.
    """

    _entry = TIME_ENTRY

    @property
    def is_full(self) -> bool:
        """Return whether only the slot for the last entry is free."""
        return len(self._entries) >= self._max_bytes - self._entry.size

    @property
    def last_entry(self) -> TimestampOffset:
        """The last entry; without any, no timestamp at the segment's start."""
        return self._entry_before(len(self))

    def maybe_append(self, timestamp: int, offset: int) -> None:
        """Add ``timestamp``, of a batch at ``offset``, if it is larger than the last entry's."""
        if timestamp > self.last_entry.timestamp:
            self._entries.extend(self._entry.pack(timestamp, offset - self.base_offset))

    def lookup(self, timestamp: int) -> TimestampOffset:
        """Return the entry with the greatest timestamp up to ``timestamp``, else the segment's start."""
        return self._entry_before(bisect_right(range(len(self)), timestamp, key=self._timestamp_at))

    def truncate_to(self, offset: int) -> None:
        """Drop the entries at ``offset`` or above."""
        self._keep(bisect_right(range(len(self)), offset - self.base_offset - 1, key=self._offset_at))

    def _entry_before(self, slot: int) -> TimestampOffset:
        if slot == 0:
            return TimestampOffset(NO_TIMESTAMP, self.base_offset)
        timestamp, relative = self._at(slot - 1)
        return TimestampOffset(timestamp, Offset(self.base_offset + relative))

    def _timestamp_at(self, slot: int) -> int:
        return self._at(slot)[0]

    def _offset_at(self, slot: int) -> int:
        return self._at(slot)[1]
