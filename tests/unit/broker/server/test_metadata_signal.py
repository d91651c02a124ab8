from __future__ import annotations

import asyncio

from broker.server.metadata_signal import MetadataSignal


async def test_what_holds_already_is_not_waited_for():
    assert await MetadataSignal().until(lambda: True, 0)


async def test_each_change_is_looked_at():
    signal, state = MetadataSignal(), []
    waiters = [asyncio.ensure_future(signal.until(lambda n=n: len(state) >= n, 60_000)) for n in (1, 2)]
    for number in (1, 2):
        await asyncio.sleep(0)
        state.append(number)
        signal.notify()
        assert await waiters[number - 1]
    assert all(waiter.done() for waiter in waiters)


async def test_the_wait_ends_with_its_time():
    assert not await MetadataSignal().until(lambda: False, 1)
    assert not await MetadataSignal().until(lambda: False, -1)


async def test_a_waiter_that_has_gone_is_forgotten():
    signal = MetadataSignal()
    waiter = asyncio.ensure_future(signal.until(lambda: False, 60_000))
    await asyncio.sleep(0)
    waiter.cancel()
    await asyncio.gather(waiter, return_exceptions=True)
    signal.notify()
