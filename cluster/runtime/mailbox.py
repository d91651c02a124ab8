"""The one queue before the one task that handles it."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def _ignore(_value: float) -> None:
    """What an unset hook does."""


class Mailbox(Generic[T]):
    """A FIFO queue with one consumer, on one event loop.

    It is not bounded: what may pile up is merged before it is put here (a design rule), and its depth and age
    are watched through the hooks.

    Args:
        on_depth: Told the number of waiting items after every change.
        on_wait: Told, for every item taken, how many seconds it has waited.
        clock: Seconds, monotonic.
    """

    def __init__(
        self,
        on_depth: Callable[[float], None] = _ignore,
        on_wait: Callable[[float], None] = _ignore,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._items: deque[tuple[float, T]] = deque()
        self._filled = asyncio.Event()
        self._on_depth = on_depth
        self._on_wait = on_wait
        self._clock = clock

    def __len__(self) -> int:
        return len(self._items)

    @property
    def age(self) -> float:
        """How many seconds the oldest waiting item has waited; 0 where none waits."""
        return self._clock() - self._items[0][0] if self._items else 0.0

    def put(self, item: T) -> None:
        """Append ``item``; to be called on the loop."""
        self._items.append((self._clock(), item))
        self._filled.set()
        self._on_depth(len(self._items))

    def clear_and_put(self, item: T) -> list[T]:
        """Take out all that waits and put ``item`` in its place.

        Returns:
            What was taken out, oldest first: the caller tells each that it will not be handled.
        """
        preempted = [waiting for _, waiting in self._items]
        self._items.clear()
        self.put(item)
        return preempted

    async def get(self) -> T:
        """Wait for the oldest item and take it. One task only may do so."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        put_at, item = self._items.popleft()
        self._on_depth(len(self._items))
        self._on_wait(self._clock() - put_at)
        return item
