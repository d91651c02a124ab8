from __future__ import annotations

import asyncio

from barnabas.controller.alarm import Alarm


async def test_it_rings_once():
    rung = asyncio.Queue()
    alarm = Alarm(lambda: rung.put_nowait("ring"))
    alarm.set(0)
    assert alarm.is_set
    await rung.get()
    assert not alarm.is_set
    await asyncio.sleep(0)
    assert rung.empty()


async def test_it_does_not_fire_when_it_is_cancelled_or_set_again():
    rung = asyncio.Queue()
    first = Alarm(lambda: rung.put_nowait("first"))
    first.set(0)
    first.set(3600)
    cancelled = Alarm(lambda: rung.put_nowait("cancelled"))
    cancelled.set(0)
    cancelled.cancel()
    cancelled.cancel()
    assert not cancelled.is_set
    last = Alarm(lambda: rung.put_nowait("last"))
    last.set(0)
    assert await rung.get() == "last"
    assert rung.empty()
    first.cancel()
