import asyncio
import math
import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.runtime.watchdog import (
    HEARTBEAT_S,
    IDLE_CPU_S,
    IDLE_HEARTBEAT_S,
    IDLE_WINDOW_S,
    WINDOW_S,
    IdleShare,
    LongestTurns,
    Watchdog,
    heartbeat_s,
)


async def test_a_loop_that_stands_still_is_noticed():
    stuck = threading.Event()
    watchdog = Watchdog(0.05, stuck.set)
    watchdog.start()
    assert stuck.wait(10)  # blocks the loop until the watchdog speaks
    watchdog.stop()


async def test_a_loop_that_runs_is_left_alone():
    stuck, lag = threading.Event(), asyncio.get_running_loop().create_future()
    watchdog = Watchdog(5, stuck.set, lambda seconds, _: lag.done() or lag.set_result(seconds))
    watchdog.start()
    assert await lag >= 0
    watchdog.stop()
    assert not stuck.is_set()


async def test_the_lag_is_how_late_a_heartbeat_came():
    lag = asyncio.get_running_loop().create_future()
    watchdog = Watchdog(2, lambda: None, lambda seconds, _: lag.done() or lag.set_result(seconds))
    watchdog.start()
    threading.Event().wait(0.3)  # stands in the loop's way: the first beat is due after 0.1 s
    assert await lag >= 0.1
    watchdog.stop()


async def test_a_turn_of_half_a_session_is_measured_whole_but_for_a_heartbeat():
    """A heartbeat every half look (900 ms at a session of 18 s) saw one such turn in nine."""
    lags = []
    measured = asyncio.Event()

    def hear(seconds, _):
        lags.append(seconds)
        if seconds >= 0.09:
            measured.set()

    watchdog = Watchdog(18, lambda: None, hear)
    watchdog.start()
    threading.Event().wait(0.1)  # one turn of the loop
    async with asyncio.timeout(60):
        await measured.wait()
    watchdog.stop()


def test_an_idle_loop_is_woken_less_often_than_a_busy_one_is_measured():
    """A hundred wake-ups a second took 1.2 % of a core from a broker that did nothing."""
    assert heartbeat_s(IDLE_CPU_S / 2) == IDLE_HEARTBEAT_S > heartbeat_s(IDLE_CPU_S) == HEARTBEAT_S


async def test_what_the_loop_waits_for_is_no_cpu_time_and_what_it_counts_is():
    heard = asyncio.Queue()

    async def later_than(lag_s):
        async with asyncio.timeout(60):
            while (seconds := await heard.get())[0] < lag_s:
                pass
            return seconds

    watchdog = Watchdog(18, lambda: None, lambda *seconds: heard.put_nowait(seconds))
    watchdog.start()
    await heard.get()
    threading.Event().wait(0.3)
    assert (await later_than(0.25))[1] < 0.2
    until = time.thread_time() + 0.3
    while time.thread_time() < until:
        pass
    assert (await later_than(0.25))[1] > 0.25
    watchdog.stop()


turns = st.lists(st.tuples(st.floats(0, 200), st.floats(0, 10)), max_size=20)


@given(turns)
def test_the_recent_longest_turn_is_that_of_two_windows(pairs):
    longest, now, told = LongestTurns(0.0), 0.0, []
    for pause, turn in pairs:
        now += pause
        longest.add(turn, now)
        told.append((now, turn))
        window = now // WINDOW_S
        recent = [length for at, length in told if window - 1 <= at // WINDOW_S]
        assert longest.recent(now) == max(recent)
        assert longest.ever == max(length for _, length in told)


def test_an_old_turn_is_forgotten_though_no_other_came():
    longest = LongestTurns(0.0)
    longest.add(3.0, 1.0)
    assert [longest.recent(at) for at in (59.0, 119.0, 120.0)] == [3.0, 3.0, 0.0]
    assert longest.recent(59.0) == 3.0, "the page that asks is another thread, and must change nothing"
    assert longest.ever == 3.0


def test_the_idle_share_follows_the_last_minute():
    idle = IdleShare()
    assert idle.share == 1.0
    for _ in range(600):
        idle.add(0.75, 1.0)
    assert idle.share == pytest.approx(0.25, abs=0.001)
    idle.add(0.0, IDLE_WINDOW_S)
    assert idle.share == pytest.approx(1 - 0.75 / math.e, abs=0.001)


def test_the_idle_share_is_never_negative():
    idle = IdleShare()
    idle.add(70.0, 1e6)  # the thread's clock is not the loop's
    idle.add(2e6, 1e6)
    idle.add(1.0, 0.0)
    assert idle.share == 0.0


async def test_a_loop_that_works_or_waits_for_the_disk_is_not_idle():
    beats = asyncio.Queue()
    watchdog = Watchdog(18, lambda: None, lambda lag, _: beats.put_nowait(lag))
    watchdog.start()
    await beats.get()
    before = watchdog.idle.share
    threading.Event().wait(0.5)  # a turn that waits
    while await beats.get() < 0.4:
        pass
    assert before - watchdog.idle.share > 0.4 / IDLE_WINDOW_S / 2
    watchdog.stop()
