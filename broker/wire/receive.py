"""The bytes of one connection on their way in, cut into frames without copying them."""

from __future__ import annotations

import struct

from broker.wire.frames import SIZE_BYTES
from broker.wire.guard import HostileFrameError

CHUNK_BYTES = 32_768
"""What an idle connection holds, and the most that is read before the size of the next frame is known."""

_SIZE = struct.Struct(">i")


class ReceiveBuffer:
    """Where a socket writes and frames are read.

    A frame is received straight into its final place: the buffer first takes a small chunk, and once it has
    seen the size of a frame that is larger, it offers exactly the rest of it. Room grows by doubling, and
    only when the bytes before it have really come, so that an announced size alone reserves nothing. A
    frame's view is good until the next call of ``writable``.
    """

    __slots__ = ("_bytes", "_end", "_max_frame_bytes", "_start", "_view")

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._replace(CHUNK_BYTES)
        self._start = self._end = 0

    def _replace(self, capacity: int) -> None:
        self._bytes = bytearray(capacity)
        self._view = memoryview(self._bytes)

    @property
    def capacity(self) -> int:
        """The bytes reserved now."""
        return len(self._bytes)

    def writable(self) -> memoryview:
        """Where the next bytes go; never empty."""
        if self._start == self._end:
            self._start = self._end = 0
            return self._view[:CHUNK_BYTES]
        needed = self._needed()
        if self._start + needed > self.capacity:
            self._make_room(needed)
        if needed > CHUNK_BYTES:
            return self._view[self._end : self._start + needed]
        return self._view[self._end :]

    def _needed(self) -> int:
        """The bytes of the frame at the start and its size; of the size alone while that is not there."""
        size = self._frame_size()
        return SIZE_BYTES if size is None else SIZE_BYTES + size

    def _frame_size(self) -> int | None:
        if self._end - self._start < SIZE_BYTES:
            return None
        size: int = _SIZE.unpack_from(self._bytes, self._start)[0]
        if not 0 <= size <= self._max_frame_bytes:
            raise HostileFrameError(f"frame of {size} bytes; expected 0 to {self._max_frame_bytes}")
        return size

    def _make_room(self, needed: int) -> None:
        """Move the begun frame to the front; where that is full of it, into a buffer twice as large."""
        begun = self._view[self._start : self._end]
        if len(begun) == self.capacity:
            self._replace(min(needed, 2 * self.capacity))
        self._view[: len(begun)] = begun
        self._start, self._end = 0, len(begun)

    def received(self, count: int) -> None:
        """``count`` bytes were written where ``writable`` said."""
        self._end += count

    def frame(self) -> memoryview | None:
        """The first complete frame without its size, read-only, or None while it has not come in whole.

        Raises:
            HostileFrameError: Its size is negative or above the limit.
        """
        size = self._frame_size()
        if size is None or self._end - self._start < SIZE_BYTES + size:
            return None
        begin = self._start + SIZE_BYTES
        return self._view[begin : begin + size].toreadonly()

    def consume(self) -> None:
        """Forget the frame that ``frame`` gave."""
        self._start += self._needed()

    def release(self) -> None:
        """Give back what a large frame has reserved, if nothing is held."""
        if self._start == self._end and self.capacity > CHUNK_BYTES:
            self._replace(CHUNK_BYTES)
            self._start = self._end = 0
