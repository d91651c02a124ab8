"""Waking those who wait for the controller's next word: the metadata cache is pure and wakes nobody."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class MetadataSignal:
    """Raised after each change of the metadata cache."""

    def __init__(self) -> None:
        self._waiters: set[asyncio.Future[None]] = set()

    def notify(self) -> None:
        """Wake everyone who waits; called on the loop after ``MetadataCache.apply``."""
        waiters, self._waiters = self._waiters, set()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_result(None)

    async def until(self, holds: Callable[[], bool], timeout_ms: int) -> bool:
        """Wait until ``holds()`` is true, looking again after each change.

        Returns:
            True once it holds; False where it still does not after ``timeout_ms`` milliseconds.
        """
        try:
            async with asyncio.timeout(max(0, timeout_ms) / 1000):
                while not holds():
                    await self._next_change()
        except TimeoutError:
            return holds()
        return True

    async def _next_change(self) -> None:
        waiter: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiters.add(waiter)
        try:
            await waiter
        finally:
            self._waiters.discard(waiter)
