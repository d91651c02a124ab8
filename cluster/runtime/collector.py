"""When Python looks for cyclic garbage, in a process whose event loop must not wait for that.

A full collection walks over every object there is. It comes when the long-lived ones have grown by a quarter,
so a takeover, which reads the whole cluster into memory, brings one after the other, and none finds anything:
over 100,000 partitions 12 of them took 0.6 s of 6, the longest 0.14 s in one piece.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

_NEVER = 2**30


@contextmanager
def long_lived() -> Iterator[None]:
    """Within the block what lives long is made: no full collections there, nor ever of what it leaves.

    The young generations are collected as always. What garbage in cycles has outlived them at the block's end
    is never freed, which a block that runs seldom can afford.
    """
    first, second, third = gc.get_threshold()
    gc.set_threshold(first, second, _NEVER)
    try:
        yield
    finally:
        gc.set_threshold(first, second, third)
        gc.freeze()
