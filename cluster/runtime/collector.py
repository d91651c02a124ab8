"""Control of Python's cyclic garbage collection, which would stall the event loop.

A full collection visits every object. It runs when the number of long-lived objects has grown by a quarter,
so a controller failover, which reads the whole cluster into memory, causes many, none of which finds
anything: with 100,000 partitions, 12 of them took 0.6 s of 6 s, the longest 0.14 s.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

LONGEST_PAUSE_S = 60.0
"""The longest time in seconds for which ``many_at_once`` suppresses full collections."""

MANY_PARTITIONS = 100
"""The number of new partitions whose long-lived objects collections should not visit again and again."""

_NEVER = 2**30


class _Pause:
    """A counter of blocks without full collections, which may overlap in any order."""

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
def long_lived(is_made: Callable[[], bool]) -> Iterator[None]:
    """Pause full collections while the block makes long-lived objects, then exempt those from collections.

    Args:
        is_made: Returns, at the block's end, whether it made any; if not, nothing is collected.

    The young generations are collected as always. One full collection at the block's end frees the garbage in
    cycles that outlived them: what is frozen as garbage is never freed.
    """
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()
        if is_made():
            gc.collect()
            gc.freeze()


@contextmanager
def many_at_once() -> Iterator[None]:
    """Run a block that creates very many short-lived objects, without full collections.

    A full collection would visit all of them and find them alive: with 100,000 elements it stalled the loop
    for 0.1 s. If such blocks overlap endlessly, full collections run again after `LONGEST_PAUSE_S`.
    """
    _PAUSE.begin()
    try:
        yield
    finally:
        _PAUSE.end()


def exempt_survivors() -> None:
    """Exempt all objects that live now from full collections, after very many long-lived ones were made.

    Unlike ``long_lived`` it runs no full collection first, which would stall the loop for as long as those
    that it prevents. So cyclic garbage that has already outlived the young generations is never freed.
    """
    gc.collect(1)
    gc.freeze()
