"""Long pieces of work on the event loop let others run now and then, and take turns among themselves."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Generator, Iterable
from typing import TypeVar, cast
from weakref import WeakKeyDictionary

from barnabas.broker.core.steps import Steps

T = TypeVar("T")

TURN_S = 0.005
"""How long one piece of work may keep the loop before the others get their turn, in seconds."""

_Waiting = deque[asyncio.Future[None]]

_WAITING: WeakKeyDictionary[asyncio.AbstractEventLoop, _Waiting] = WeakKeyDictionary()
"""The pieces of work that wait for their next turn, by loop."""


class Turn:
    """Gives the loop to others every ``TURN_S``.

    However many pieces of work are long at the same time, one of them goes on in each pass of the loop: what
    is short never waits for more than one turn of theirs.
    """

    def __init__(self) -> None:
        self._until = time.monotonic() + TURN_S

    async def yield_if_long(self) -> None:
        """Let others run, if this turn has been long enough."""
        if time.monotonic() >= self._until:
            await _next_turn()
            self._until = time.monotonic() + TURN_S


async def paced(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield ``items`` one by one, and let others run between two of them where that is due."""
    turn = Turn()
    for item in items:
        yield item
        await turn.yield_if_long()


async def in_turns(steps: Generator[None, None, T]) -> T:
    """Run work to its end, and let others run between two of its steps where that is due."""
    turn = Turn()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)
        await turn.yield_if_long()


async def carried_out(steps: Steps[T]) -> T:
    """As ``in_turns``; the calls that the work yields are made on a thread."""
    turn, result = Turn(), None
    while True:
        try:
            work = steps.send(result)
        except StopIteration as end:
            return cast("T", end.value)
        result = None if work is None else await asyncio.to_thread(work)
        await turn.yield_if_long()


async def _next_turn() -> None:
    loop = asyncio.get_running_loop()
    waiting = _WAITING.get(loop)
    if waiting is None:
        waiting = _WAITING[loop] = deque()
    mine: asyncio.Future[None] = loop.create_future()
    waiting.append(mine)
    if len(waiting) == 1:
        loop.call_soon(_let_one_go_on, loop, waiting)
    await mine


def _let_one_go_on(loop: asyncio.AbstractEventLoop, waiting: _Waiting) -> None:
    """Wake the piece of work that has waited longest, one in each pass of the loop; skip cancelled ones."""
    while waiting:
        oldest = waiting.popleft()
        if not oldest.done():
            oldest.set_result(None)
            break
    if waiting:
        loop.call_soon(_let_one_go_on, loop, waiting)
