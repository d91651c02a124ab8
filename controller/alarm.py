"""A clock for the core, which has none: it asks to be reminded, and the reminder comes into the mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """Rings at most once for each time it is set; its owner hears it, or cancels it.

    Args:
        ring: Called on the event loop when the time has come; it may not fail.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Whether it will ring."""
        return self._handle is not None

    def set(self, delay_s: float) -> None:
        """Ring in ``delay_s`` seconds, and not when it was set to before."""
        self.cancel()
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._go_off)

    def cancel(self) -> None:
        """Do not ring; nothing happens where it is not set."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _go_off(self) -> None:
        self._handle = None
        self._ring()
