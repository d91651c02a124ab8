"""The purgatory's timer on the loop."""

from __future__ import annotations

import asyncio

from broker.replicas.timers import LoopTimer


async def test_it_calls_back_once_and_counts_what_runs():
    timer, rang = LoopTimer(), asyncio.Event()
    timer.add(1, rang.set)
    assert timer.size == 1
    await rang.wait()
    assert timer.size == 0


async def test_a_cancelled_entry_never_rings_and_is_counted_out_once():
    timer, first, last = LoopTimer(), asyncio.Event(), asyncio.Event()
    entry = timer.add(1, first.set)
    timer.add(2, last.set)
    entry.cancel()
    entry.cancel()
    assert timer.size == 1
    await last.wait()
    assert not first.is_set()
    entry.cancel()
    assert timer.size == 0
