"""A queue with a single consumer."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


def _ignore(_value: float) -> None:
    """Do nothing; the default of hooks."""


class Mailbox(Generic[T]):
    """A FIFO queue with one consumer, on one event loop.

    The queue is not bounded. Items that may pile up must be merged before they are put here, and the depth
    and age are monitored through the hooks.

    Args:
        on_depth: Called with the number of waiting items after every change.
        on_wait: Called for every item taken with the seconds that it waited.
        clock: Returns monotonic seconds.
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
        """Return for how many seconds the oldest item has waited; 0 if there is none."""
        return self._clock() - self._items[0][0] if self._items else 0.0

    def put(self, item: T) -> None:
        """Append ``item``; must be called on the loop."""
        self._items.append((self._clock(), item))
        self._filled.set()
        self._on_depth(len(self._items))

    def clear_and_put(self, item: T) -> list[T]:
        """Remove all waiting items and append ``item``.

        Returns:
            The removed items, oldest first, whose senders the caller must notify.
        """
        preempted = [waiting for _, waiting in self._items]
        self._items.clear()
        self.put(item)
        return preempted

    async def get(self) -> T:
        """Wait for the oldest item and remove it. Only one task may call this."""
        while not self._items:
            self._filled.clear()
            await self._filled.wait()
        put_at, item = self._items.popleft()
        self._on_depth(len(self._items))
        self._on_wait(self._clock() - put_at)
        return item
