"""The purgatory's timer on the loop."""

from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.core.timing_wheel import TimerTask
from barnabas.broker.replicas.system_timer import SystemTimer


class Alarm(TimerTask):
    """Notes the loop's time at which it rang."""

    def __init__(self, log=None, error=None):
        super().__init__()
        self.rang, self.log, self.error = asyncio.Event(), log, error
        self.at = None

    def run(self):
        self.at = asyncio.get_running_loop().time()
        self.rang.set()
        if self.log is not None:
            self.log.append(self)
        if self.error:
            raise self.error


async def test_it_calls_back_once_and_counts_what_runs():
    timer, rung = SystemTimer(), []
    alarm = Alarm(rung)
    timer.add(alarm, 1)
    assert timer.size == 1
    await alarm.rang.wait()
    last = Alarm(rung)
    timer.add(last, 5)
    await last.rang.wait()
    assert rung == [alarm, last]
    assert timer.size == 0


async def test_a_cancelled_task_never_rings_and_is_counted_out_once():
    timer, first, last = SystemTimer(), Alarm(), Alarm()
    timer.add(first, 1)
    timer.add(last, 2)
    timer.cancel(first)
    timer.cancel(first)
    assert timer.size == 1
    await last.rang.wait()
    assert not first.rang.is_set()
    timer.cancel(first)
    timer.cancel(last)
    assert timer.size == 0


async def test_tasks_ring_in_the_order_of_their_times_and_none_too_early():
    timer, rung, began = SystemTimer(), [], asyncio.get_running_loop().time()
    delays = [70, 3, 1, 20, 3, 5]
    alarms = [Alarm(rung) for _ in delays]
    for alarm, delay in zip(alarms, delays, strict=True):
        timer.add(alarm, delay)
    await asyncio.gather(*(alarm.rang.wait() for alarm in alarms))
    assert [alarms.index(alarm) for alarm in rung] == [2, 1, 4, 5, 3, 0]
    # A millisecond for the coarseness of the loop's own clock.
    assert all(alarm.at - began >= (delay - 1) / 1000 for alarm, delay in zip(alarms, delays, strict=True))


@pytest.mark.parametrize("delay", [0, -1, -100_000])
async def test_without_delay_it_rings_soon_but_not_within_the_call(delay):
    timer, alarm = SystemTimer(), Alarm()
    timer.add(alarm, delay)
    assert not alarm.rang.is_set()
    await alarm.rang.wait()
    assert timer.size == 0


async def test_one_that_fails_does_not_take_the_others_with_it():
    notified = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: notified.append(context["exception"]))
    timer, error = SystemTimer(), ValueError("no")
    failing, last = Alarm(error=error), Alarm()
    timer.add(failing, 1)
    timer.add(last, 1)
    await last.rang.wait()
    assert failing.rang.is_set()
    assert notified == [error]
