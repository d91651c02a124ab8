"""The purgatory's timer on the event loop: one ``call_later`` for each operation that waits.

The seam for a timing wheel: whatever implements ``broker.core.waiting.Timer`` may stand here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class LoopTimer:
    """Expiries through the running event loop.

    Attributes:
        size: Entries that have neither expired nor been cancelled.
    """

    def __init__(self) -> None:
        self.size = 0

    def add(self, delay_ms: int, expire: Callable[[], None]) -> LoopTimerEntry:
        """Call ``expire`` once, ``delay_ms`` milliseconds from now, unless the entry is cancelled before."""
        self.size += 1
        return LoopTimerEntry(self, delay_ms, expire)


class LoopTimerEntry:
    """One expiry; counted by its timer until it expires or is cancelled."""

    __slots__ = ("_expire", "_handle", "_timer")

    def __init__(self, timer: LoopTimer, delay_ms: int, expire: Callable[[], None]) -> None:
        self._timer = timer
        self._expire = expire
        self._handle: asyncio.TimerHandle | None = asyncio.get_running_loop().call_later(
            delay_ms / 1000, self._expired
        )

    def cancel(self) -> None:
        """Do not expire; nothing happens where it has expired or been cancelled before."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None
            self._timer.size -= 1

    def _expired(self) -> None:
        self._handle = None
        self._timer.size -= 1
        self._expire()
