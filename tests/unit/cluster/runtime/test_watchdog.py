import asyncio
import threading

from cluster.runtime.watchdog import Watchdog


async def test_a_loop_that_stands_still_is_noticed():
    stuck = threading.Event()
    watchdog = Watchdog(0.05, stuck.set)
    watchdog.start()
    assert stuck.wait(10)  # blocks the loop until the watchdog speaks
    watchdog.stop()


async def test_a_loop_that_runs_is_left_alone():
    stuck, lag = threading.Event(), asyncio.get_running_loop().create_future()
    watchdog = Watchdog(5, stuck.set, lambda seconds: lag.done() or lag.set_result(seconds))
    watchdog.start()
    assert await lag >= 0
    watchdog.stop()
    assert not stuck.is_set()


async def test_the_lag_is_how_late_a_heartbeat_came():
    lag = asyncio.get_running_loop().create_future()
    watchdog = Watchdog(2, lambda: None, lambda seconds: lag.done() or lag.set_result(seconds))
    watchdog.start()
    threading.Event().wait(0.3)  # stands in the loop's way: the first beat is due after 0.1 s
    assert await lag >= 0.1
    watchdog.stop()
