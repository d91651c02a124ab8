"""The bytes of one connection on their way in, cut into frames without copying them."""

from __future__ import annotations

import struct

from barnabas.broker.wire.frames import SIZE_BYTES
from barnabas.broker.wire.guard import HostileFrameError

CHUNK_BYTES = 32_768
"""What an idle connection holds, and the most that is read before the size of the next frame is known."""

SHORT_FRAMES = 64
"""After so many frames that fit into a chunk one behind the other, the room of a longer one is given back."""

_SIZE = struct.Struct(">i")


class ReceiveBuffer:
    """Where a socket writes and frames are read.

    A frame is received straight into its final place: the buffer first takes a small chunk, and once it has
    seen the size of a frame that is larger, it offers exactly the rest of it. Room grows by doubling, and
    only when the bytes before it have really come, so that an announced size alone reserves nothing. A
    frame's view is good until the next call of ``writable``, or after ``give_away`` as long as it is held.
    """

    __slots__ = ("_bytes", "_end", "_max_frame_bytes", "_short_frames", "_start", "_view")

    def __init__(self, max_frame_bytes: int) -> None:
        self._max_frame_bytes = max_frame_bytes
        self._replace(CHUNK_BYTES)
        self._start = self._end = 0
        self._short_frames = 0

    def _replace(self, capacity: int) -> None:
        self._bytes = bytearray(capacity)
        self._view = memoryview(self._bytes)

    @property
    def capacity(self) -> int:
        """The bytes reserved now."""
        return len(self._bytes)

    @property
    def is_empty(self) -> bool:
        """Whether it holds no byte of a frame."""
        return self._start == self._end

    def writable(self) -> memoryview:
        """Where the next bytes go; never empty."""
        if self._start == self._end:
            if self._short_frames >= SHORT_FRAMES:
                self.release()
            self._start = self._end = 0
            return self._view[:CHUNK_BYTES]
        needed = self.needed
        if self._start + needed > self.capacity:
            self._make_room(needed)
        if needed > CHUNK_BYTES:
            return self._view[self._end : self._start + needed]
        return self._view[self._end :]

    @property
    def needed(self) -> int:
        """The bytes of the first frame with its size; of the size alone while that has not come in whole.

        Raises:
            HostileFrameError: The frame's size is negative or above the limit.
        """
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
        needed = self.needed
        self._start += needed
        self._short_frames = self._short_frames + 1 if needed <= CHUNK_BYTES else 0

    def give_away(self) -> None:
        """Leave the memory of the frames that were consumed to those who still read them."""
        begun = self._view[self._start : self._end]
        self._replace(max(CHUNK_BYTES, len(begun)))
        self._view[: len(begun)] = begun
        self._start, self._end = 0, len(begun)

    def close(self) -> None:
        """Free the memory: nothing is received any more."""
        self._replace(0)
        self._start = self._end = 0

    def release(self) -> None:
        """Give back what a large frame has reserved, if nothing is held."""
        if self._start == self._end and self.capacity > CHUNK_BYTES:
            self._replace(CHUNK_BYTES)
            self._start = self._end = 0
