import asyncio

from barnabas.cluster.runtime.mailbox import Mailbox


async def test_items_come_out_in_the_order_they_went_in():
    mailbox = Mailbox()
    for item in "abc":
        mailbox.put(item)
    assert [await mailbox.get() for _ in range(3)] == ["a", "b", "c"]
    assert len(mailbox) == 0


async def test_get_waits_for_an_item():
    mailbox = Mailbox()
    waiting = asyncio.create_task(mailbox.get())
    await asyncio.sleep(0)
    assert not waiting.done()
    mailbox.put(1)
    assert await waiting == 1


async def test_clear_and_put_returns_what_it_took_out():
    mailbox = Mailbox()
    mailbox.put("a")
    mailbox.put("b")
    assert mailbox.clear_and_put("expire") == ["a", "b"]
    assert await mailbox.get() == "expire"
    assert len(mailbox) == 0


async def test_depth_wait_and_age_are_reported():
    now, depths, waits = [10.0], [], []
    mailbox = Mailbox(depths.append, waits.append, clock=lambda: now[0])
    assert mailbox.age == 0.0
    mailbox.put("a")
    now[0] = 12.5
    mailbox.put("b")
    assert mailbox.age == 2.5
    await mailbox.get()
    mailbox.clear_and_put("c")
    assert depths == [1, 2, 1, 1]
    assert waits == [2.5]


async def test_a_cancelled_get_loses_nothing():
    mailbox = Mailbox()
    waiting = asyncio.create_task(mailbox.get())
    await asyncio.sleep(0)
    mailbox.put(1)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert await mailbox.get() == 1
