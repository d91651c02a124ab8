from __future__ import annotations

import asyncio
import threading

import pytest

from barnabas.broker.replicas import turn
from barnabas.broker.replicas.turn import Turn, paced


async def test_a_long_turn_ends():
    one = Turn()
    one._until = 0
    await one.yield_if_long()
    assert one._until > 0


async def test_a_short_turn_goes_on_at_once():
    one = Turn()
    one._until = float("inf")
    ran = []
    asyncio.get_running_loop().call_soon(ran.append, 1)
    await one.yield_if_long()
    assert ran == []


@pytest.fixture
def endless_turns(monkeypatch):
    """Every look at the clock finds the turn over."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)


class Passes:
    """Counts the passes of the loop, and what was done in each."""

    def __init__(self):
        self.done = [0]
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def _next(self):
        self.done.append(0)
        self._handle = asyncio.get_running_loop().call_soon(self._next)

    def stop(self):
        self._handle.cancel()


async def test_others_run_between_the_items_of_a_long_list(endless_turns):
    passes = Passes()
    seen = [item async for item in paced(range(100))]
    passes.stop()
    assert seen == list(range(100))
    assert len(passes.done) >= 100


async def test_of_many_long_pieces_of_work_one_goes_on_in_each_pass(endless_turns):
    passes = Passes()

    async def work():
        async for _ in paced(range(10)):
            passes.done[-1] += 1

    first = [asyncio.create_task(work()) for _ in range(50)]
    await asyncio.wait(first)
    passes.stop()
    beginning = passes.done.index(50)  # each may begin at once
    assert sum(passes.done) == 500
    assert max(passes.done[beginning + 1 :]) == 1


async def test_work_that_is_cancelled_while_it_waits_holds_up_nobody(endless_turns):
    async def work():
        return [item async for item in paced(range(3))]

    cancelled, other = asyncio.create_task(work()), asyncio.create_task(work())
    await asyncio.sleep(0)
    cancelled.cancel()
    assert await other == [0, 1, 2]
    assert cancelled.cancelled()


async def test_calls_are_made_on_a_thread_and_others_go_on_between_steps(monkeypatch):
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    here, passes = threading.get_ident(), []

    def steps():
        assert (yield threading.get_ident) != here
        before = len(passes)
        yield None
        return len(passes) - before

    async def count():
        while True:
            passes.append(1)
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    assert await turn.carried_out(steps()) > 0
    counting.cancel()
