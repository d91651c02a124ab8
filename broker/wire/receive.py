"""The received bytes of one connection, cut into frames without copying them."""

from __future__ import annotations

import struct

from barnabas.broker.wire.frames import SIZE_BYTES
from barnabas.broker.wire.guard import HostileFrameError

CHUNK_BYTES = 32_768
"""The most bytes read before the size of the next frame is known."""

SHORT_FRAMES = 64
"""The number of consecutive frames within a chunk after which the buffer of a longer one is freed."""

_SIZE = struct.Struct(">i")

_CHUNK = memoryview(bytearray(CHUNK_BYTES))
"""The memory in which every idle connection receives; what arrives there is copied at once."""


class ReceiveBuffer:
    """The buffer that a socket writes to and frames are read from.

    A large frame is received at its final place: once its size is known, the buffer offers exactly the rest
    of that frame. The buffer doubles only when the bytes before are received, so an announced size alone
    reserves nothing. An idle connection has no buffer: it receives in a chunk that all share, because a chunk
    of its own for each of 1,000 connections, whose bytes or whose end come in one pass of the loop, costs
    25 ms. Bytes whose frames are consumed are left to their readers; the buffer of a large frame is used
    again. The view of a frame is valid until the next call of ``writable``; after ``give_away``, as long as
    it is held.

    Attributes:
        max_frame_bytes: The largest frame; a larger one is refused by its size.
    """

    __slots__ = ("_bytes", "_end", "_short_frames", "_start", "_view", "max_frame_bytes")

    def __init__(self, max_frame_bytes: int) -> None:
        self.max_frame_bytes = max_frame_bytes
        self._replace(0)
        self._short_frames = 0

    def _replace(self, capacity: int) -> None:
        self._bytes = bytearray(capacity)
        self._view = memoryview(self._bytes)
        self._start = self._end = 0

    @property
    def capacity(self) -> int:
        """The bytes reserved now."""
        return len(self._bytes)

    @property
    def is_empty(self) -> bool:
        """Return whether the buffer has no byte of a frame."""
        return self._start == self._end

    @property
    def received_bytes(self) -> int:
        """The bytes received of the first frame, and of those behind it."""
        return self._end - self._start

    def writable(self) -> memoryview:
        """Return the memory for the next bytes, never empty; ``received`` must follow before other calls."""
        if self._start == self._end:
            if self._short_frames >= SHORT_FRAMES:
                self.release()
            if not self.capacity:
                return _CHUNK
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
        """The bytes of the first frame with its size, or of the size alone while that is incomplete.

        Raises:
            HostileFrameError: The frame's size is negative or above the limit.
        """
        size = self._frame_size()
        return SIZE_BYTES if size is None else SIZE_BYTES + size

    def _frame_size(self) -> int | None:
        if self._end - self._start < SIZE_BYTES:
            return None
        size: int = _SIZE.unpack_from(self._bytes, self._start)[0]
        if not 0 <= size <= self.max_frame_bytes:
            raise HostileFrameError(f"frame of {size} bytes; expected 0 to {self.max_frame_bytes}")
        return size

    def _make_room(self, needed: int) -> None:
        """Move the begun frame to the front; if it fills the buffer, or that is small, into a larger one."""
        begun = self._view[self._start : self._end]
        if len(begun) == self.capacity or self.capacity < CHUNK_BYTES:
            self._replace(max(CHUNK_BYTES, min(needed, 2 * self.capacity)))
        self._view[: len(begun)] = begun
        self._start, self._end = 0, len(begun)

    def received(self, count: int) -> None:
        """Note that ``count`` bytes were written into the memory from ``writable``."""
        if not self.capacity:
            self._replace(count)
            self._view[:] = _CHUNK[:count]
        self._end += count

    def frame(self) -> memoryview | None:
        """Return the first complete frame without its size, read-only, or None while it is incomplete.

        Raises:
            HostileFrameError: Its size is negative or above the limit.
        """
        size = self._frame_size()
        if size is None or self._end - self._start < SIZE_BYTES + size:
            return None
        begin = self._start + SIZE_BYTES
        return self._view[begin : begin + size].toreadonly()

    def consume(self) -> None:
        """Skip the frame that ``frame`` returned."""
        needed = self.needed
        self._start += needed
        self._short_frames = self._short_frames + 1 if needed <= CHUNK_BYTES else 0
        if self._start == self._end and self.capacity <= CHUNK_BYTES:
            self._replace(0)

    def give_away(self) -> None:
        """Leave the memory of the consumed frames to their readers, and continue in a new buffer."""
        begun = self._view[self._start : self._end]
        self._replace(max(CHUNK_BYTES, len(begun)) if begun else 0)
        self._view[: len(begun)] = begun
        self._end = len(begun)

    def close(self) -> None:
        """Free the memory: nothing more is received."""
        self._replace(0)

    def release(self) -> None:
        """Free what has no byte of a frame, because none has come for a while."""
        if self.received_bytes < self.capacity:
            begun = self._view[self._start : self._end]
            self._replace(len(begun))
            self._view[:] = begun
            self._end = len(begun)
