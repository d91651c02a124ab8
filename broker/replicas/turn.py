"""A long piece of work on the event loop lets others run now and then."""

from __future__ import annotations

import asyncio
import time

TURN_S = 0.01
"""How long one piece of work may keep the loop before the others get their turn, in seconds."""


class Turn:
    """Gives the loop to others every ``TURN_S``."""

    def __init__(self) -> None:
        self._until = time.monotonic() + TURN_S

    async def yield_if_long(self) -> None:
        """Let others run, if this turn has been long enough."""
        if time.monotonic() >= self._until:
            await asyncio.sleep(0)
            self._until = time.monotonic() + TURN_S
