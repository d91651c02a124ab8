"""The sharing of the event loop: long pieces of work let others run, and take turns among themselves."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable
from gc import get_referents
from heapq import merge
from itertools import islice
from sys import getrefcount
from typing import Any, TypeVar, cast

from barnabas.cluster.model.steps import Steps

T = TypeVar("T")

TURN_S = 0.005
"""The time in seconds that long work may keep the loop in one pass."""

FEW = 20
"""The elements of an ordinary request, which are handled without a look at the clock."""

Container = dict[Any, Any] | list[Any] | set[Any]

_ONLY_HERE = 2
"""The reference count of an object that one variable holds: the variable and ``getrefcount``'s argument."""

_FREED_PER_STEP = 200

_SORTED_AT_ONCE = 500


class _Pass:
    """The current pass of an event loop: the time at which long work in it ends, and the work that waits."""

    __slots__ = ("loop", "until", "waiting")

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop = loop
        self.until: float | None = None
        self.waiting: deque[asyncio.Future[None]] = deque()

    def begin(self) -> None:
        """Measure from now on, until the next pass, unless that has begun."""
        if self.until is None:
            self.until = time.monotonic() + TURN_S
            self.loop.call_soon(self._end)

    def _end(self) -> None:
        self.until = None

    def is_over(self) -> bool:
        """Return whether long work has kept the loop for ``TURN_S`` in this pass."""
        if self.until is None:
            self.begin()
            return False
        return time.monotonic() >= self.until

    async def next(self) -> None:
        """Let other work run, and continue in a later pass."""
        await _next_turn(self.waiting)
        self.begin()


class _OfThread(threading.local):
    """The pass of the loop that ran last on this thread."""

    current: _Pass | None = None


_OF_THREAD = _OfThread()


def _current_pass() -> _Pass:
    loop = asyncio.get_running_loop()
    current = _OF_THREAD.current
    if current is None or current.loop is not loop:
        current = _OF_THREAD.current = _Pass(loop)
    return current


class Turn:
    """A turn of long work, which ends when all long work has kept the loop for ``TURN_S`` in one pass.

    The time is shared, because many loops that are short each would otherwise make a long turn together.
    However many pieces of work wait, one of them continues in each pass: short work never waits for more than
    one turn.

    Args:
        few: The first calls of `yield_if_long` that do not look at the clock: a request of few elements is
            carried out without a pause, whatever others do.
    """

    __slots__ = ("_few", "_pass")

    def __init__(self, few: int = 0) -> None:
        self._few = few
        self._pass: _Pass | None = None
        if not few:
            self._pass = _current_pass()
            self._pass.begin()

    async def yield_if_long(self) -> None:
        """Let other work run if this turn is over."""
        if self._few:
            self._few -= 1
            return
        current = self._pass = self._pass or _current_pass()
        if current.is_over():
            await current.next()


async def in_its_turn(answer: Awaitable[T]) -> T:
    """Return an answer for which many may wait: one event may answer all members of a large group."""
    found = await answer
    await Turn().yield_if_long()
    return found


async def paced(items: Iterable[T]) -> AsyncIterator[T]:
    """Yield ``items`` one by one, and let other work run in between when a turn is over.

    A single item, which most lists in requests have, costs no look at the clock.
    """
    left = iter(items)
    for item in left:
        yield item
        break
    current: _Pass | None = None
    for item in left:
        current = current or _current_pass()
        if current.is_over():
            await current.next()
        yield item


async def unique(items: Iterable[T]) -> dict[T, None]:
    """Return ``items`` once each, in order; other work runs in between, as hashing 100,000 takes 24 ms."""
    return {item: None async for item in paced(items)}


async def sorted_in_turns(items: Iterable[T]) -> list[T]:
    """Return ``items`` sorted; other work runs in between, as sorting 100,000 names takes 60 ms."""
    turn, left = Turn(), iter(items)
    runs: list[list[T]] = []
    while run := list(islice(left, _SORTED_AT_ONCE)):
        run.sort()
        runs.append(run)
        await turn.yield_if_long()
    if len(runs) == 1:
        return runs[0]
    return [item async for item in paced(merge(*runs))]  # type: ignore[type-var]


async def in_turns(steps: Generator[None, None, T]) -> T:
    """Run work to its end, and let other work run between two steps when a turn is over."""
    turn = Turn()
    while True:
        try:
            next(steps)
        except StopIteration as end:
            return cast("T", end.value)
        await turn.yield_if_long()


async def carried_out(steps: Steps[T]) -> T:
    """Run work as ``in_turns`` does, with the calls that it yields on a thread."""
    turn, result = Turn(), None
    while True:
        try:
            work = steps.send(result)
        except StopIteration as end:
            return cast("T", end.value)
        result = None if work is None else await asyncio.to_thread(work)
        await turn.yield_if_long()


async def freed_in_turns(*containers: Container) -> None:
    """Empty the containers, and free what nothing else holds in turns with others.

    The interpreter frees a container with all that it holds in one go: 50 ms for 100,000 topics' settings.
    """
    for each in containers:
        await in_turns(_freed(each))


def _freed(container: Container) -> Generator[None, None, None]:
    take: Callable[[], Any] = container.popitem if isinstance(container, dict) else container.pop
    count = 0
    held: list[Any] = []
    while container:
        held.append(take())
        while held:
            each = held.pop()
            if getrefcount(each) == _ONLY_HERE:
                held += get_referents(each)
            count += 1
            if count % _FREED_PER_STEP == 0:
                yield


async def _next_turn(waiting: deque[asyncio.Future[None]]) -> None:
    loop = asyncio.get_running_loop()
    mine: asyncio.Future[None] = loop.create_future()
    waiting.append(mine)
    if len(waiting) == 1:
        loop.call_soon(_let_one_go_on, loop, waiting)
    await mine


def _let_one_go_on(loop: asyncio.AbstractEventLoop, waiting: deque[asyncio.Future[None]]) -> None:
    """Wake the piece of work that has waited longest, one in each pass of the loop; skip cancelled ones."""
    while waiting:
        oldest = waiting.popleft()
        if not oldest.done():
            oldest.set_result(None)
            break
    if waiting:
        loop.call_soon(_let_one_go_on, loop, waiting)
