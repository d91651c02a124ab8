from __future__ import annotations

import asyncio
import threading

import pytest

from barnabas.cluster.runtime import turn
from barnabas.cluster.runtime.turn import Turn, freed_in_turns, paced, sorted_in_turns


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


class Clock:
    def __init__(self):
        self.now = 0.0

    def monotonic(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(turn, "time", clock)
    return clock


async def test_a_short_turn_goes_on_at_once(clock):
    one = Turn()
    ran = []
    asyncio.get_running_loop().call_soon(ran.append, 1)
    clock.now += turn.TURN_S / 2
    await one.yield_if_long()
    assert ran == []


async def test_a_long_turn_ends_and_another_begins(clock):
    one = Turn()
    passes = Passes()
    for _ in range(2):
        clock.now += turn.TURN_S
        await one.yield_if_long()
    passes.stop()
    assert len(passes.done) > 2


async def test_many_short_pieces_of_work_are_one_long_turn(clock):
    """Each portion of a request begins a `Turn` of its own, and takes less than `TURN_S`."""
    passes = Passes()
    for _ in range(100):
        async for _ in paced(range(2)):
            clock.now += turn.TURN_S / 4
    passes.stop()
    assert len(passes.done) > 40


async def test_what_was_done_in_an_earlier_pass_does_not_count(clock):
    one = Turn()
    clock.now += turn.TURN_S
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    passes = Passes()
    await one.yield_if_long()
    passes.stop()
    assert len(passes.done) == 1


class Freed:
    """Counts in which pass of the loop objects are freed."""

    passes: Passes | None = None

    def __init__(self, held=()):
        self.held = held

    def __del__(self):
        if self.passes is not None:
            self.passes.done[-1] += 1


@pytest.mark.parametrize(
    "container",
    [
        lambda: {n: (n, [Freed()]) for n in range(5_000)},
        lambda: [Freed() for _ in range(5_000)],
        lambda: [Freed(tuple({"a": Freed()} for _ in range(4_999)))],
    ],
    ids=["a dictionary", "a list", "one object that holds all"],
)
async def test_what_is_freed_in_turns_is_freed_bit_by_bit(endless_turns, monkeypatch, container):
    everything = container()
    passes = Passes()
    monkeypatch.setattr(Freed, "passes", passes)
    await freed_in_turns(everything)
    passes.stop()
    assert not everything
    assert sum(passes.done) == 5_000
    assert max(passes.done) <= 200


async def test_what_others_hold_is_left_whole():
    kept = {"a": [1, 2], "b": ({"c": 3},)}
    await freed_in_turns([kept, kept["b"]], {"more": kept["a"]})
    assert kept == {"a": [1, 2], "b": ({"c": 3},)}


@pytest.fixture
def endless_turns(monkeypatch):
    """Every look at the clock finds the turn over."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)


async def test_others_run_between_the_items_of_a_long_list(endless_turns):
    passes = Passes()
    seen = [item async for item in paced(range(100))]
    passes.stop()
    assert seen == list(range(100))
    assert len(passes.done) >= 100


@pytest.mark.parametrize("count", [0, 1, 7, 500, 501, 1_234])
async def test_many_items_are_sorted_bit_by_bit(endless_turns, monkeypatch, count):
    monkeypatch.setattr(turn, "_SORTED_AT_ONCE", 10)
    passes = Passes()
    items = [(number * 7919) % 1_237 for number in range(count)]
    assert await sorted_in_turns(items) == sorted(items)
    passes.stop()
    assert len(passes.done) >= count // 10


async def test_of_many_long_pieces_of_work_one_goes_on_in_each_pass(endless_turns):
    passes = Passes()

    async def work():
        async for _ in paced(range(10)):
            passes.done[-1] += 1

    first = [asyncio.create_task(work()) for _ in range(50)]
    await asyncio.wait(first)
    passes.stop()
    # Each may begin at once.
    beginning = next(place for place, items in enumerate(passes.done) if items >= 50)
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
