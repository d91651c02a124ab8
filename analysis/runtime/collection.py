"""Python's search for cycles of objects, which is of no use among rows."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Make no search for cycles in the block.

    Rows have no cycles, so reference counts free them. The searches visit all of them again and again while
    more are made, which took two fifths of the time of a story of 80,000 states.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
