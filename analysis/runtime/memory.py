"""Memory of this process that is free again, but kept by its allocators."""

from __future__ import annotations

import ctypes

import pyarrow as pa


def give_back() -> None:
    """Give the free memory that Arrow and the C library keep back to the system.

    They keep what was needed most at once, 100 MB after a task that reads logs, while other processes of the
    run need theirs. Of other C libraries than that of GNU only Arrow's is given back.
    """
    pa.default_memory_pool().release_unused()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)
