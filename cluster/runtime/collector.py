"""When Python looks for cyclic garbage, in a process whose event loop must not wait for that.

A full collection walks over every object there is. It comes when the long-lived ones have grown by a quarter,
so a takeover, which reads the whole cluster into memory, brings one after the other, and none finds anything:
over 100,000 partitions 12 of them took 0.6 s of 6, the longest 0.14 s in one piece.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from contextlib import contextmanager

LONGEST_PAUSE_S = 60.0
"""After so long without full collections, blocks that only pass by do without them no longer, seconds."""

_NEVER = 2**30


class _Pause:
    """Full collections are off while any block wants that; blocks may overlap in any order."""

    def __init__(self) -> None:
        self._blocks = 0
        self._began = 0.0
        self._threshold = 0

    def begin(self) -> None:
        if self._blocks == 0:
            first, second, self._threshold = gc.get_threshold()
            self._began = time.monotonic()
            gc.set_threshold(first, second, _NEVER)
        elif time.monotonic() - self._began > LONGEST_PAUSE_S:
            self._resume()
        self._blocks += 1

    def end(self) -> None:
        self._blocks -= 1
        if self._blocks == 0:
            self._resume()

    def _resume(self) -> None:
        first, second, _ = gc.get_threshold()
        gc.set_threshold(first, second, self._threshold)


_PAUSE = _Pause()


@contextmanager
def long_lived() -> Iterator[None]:
    """Pause full collections while the block makes long-lived objects, then exempt those from collections.

    The young generations are collected as always. One full collection at the block's end frees the garbage in
    cycles that outlived them: what is frozen as garbage is never freed.
    """
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
        gc.collect()
        gc.freeze()


@contextmanager
def many_at_once() -> Iterator[None]:
    """Within the block very many objects are made that are gone at its end: no full collections meanwhile.

    Each would walk over all of them and find them alive: one of 100,000 elements took 0.1 s of the loop.
    Where such blocks overlap without an end, full collections come back after `LONGEST_PAUSE_S`.
    """
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
