"""The longest and the average time of recent loads."""

from __future__ import annotations

import math

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.group.load_times import WINDOW_MS, LoadTimes


def test_no_load_takes_no_time_that_is_a_number() -> None:
    assert all(math.isnan(each) for each in LoadTimes().measure(0))


def test_a_load_counts_for_two_windows() -> None:
    times = LoadTimes()
    times.record(100, 0)
    times.record(300, WINDOW_MS - 1)
    times.record(20, WINDOW_MS)
    assert times.measure(WINDOW_MS) == (300, 140)
    assert times.measure(2 * WINDOW_MS - 1) == (300, 140)
    assert times.measure(2 * WINDOW_MS) == (20, 20)
    assert math.isnan(times.measure(3 * WINDOW_MS).longest)


@given(st.lists(st.tuples(st.integers(0, 10_000), st.integers(0, WINDOW_MS // 2)), min_size=1, max_size=30))
def test_what_ended_in_the_last_window_counts_and_what_ended_before_two_does_not(
    loads: list[tuple[int, int]],
) -> None:
    times, ended, now_ms = LoadTimes(), [], 0
    for took_ms, later_ms in loads:
        now_ms += later_ms
        times.record(took_ms, now_ms)
        ended.append((now_ms, took_ms))
    longest = times.measure(now_ms).longest
    assert longest >= max(took for end, took in ended if now_ms - end < WINDOW_MS)
    assert longest <= max(took for end, took in ended if now_ms - end < 2 * WINDOW_MS)
