"""Timers of the controller: effects of the core set them, and they put inputs into the mailbox."""

from __future__ import annotations

import asyncio
from collections.abc import Callable


class Alarm:
    """A timer that fires at most once for each time it is set, unless it is cancelled.

    Args:
        ring: Called on the event loop when the timer fires; it may not fail.
    """

    def __init__(self, ring: Callable[[], None]) -> None:
        self._ring = ring
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_set(self) -> bool:
        """Return whether the timer is set and has not fired."""
        return self._handle is not None

    def set(self, delay_s: float) -> None:
        """Fire in ``delay_s`` seconds; an earlier setting is dropped."""
        self.cancel()
        self._handle = asyncio.get_running_loop().call_later(delay_s, self._go_off)

    def cancel(self) -> None:
        """Cancel the timer; nothing happens if it is not set."""
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _go_off(self) -> None:
        self._handle = None
        self._ring()
