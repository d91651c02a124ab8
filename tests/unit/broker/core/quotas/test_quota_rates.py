from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.quotas.quota_rates import Measured, SampledRate, throttle_ms

WINDOWS, WINDOW_MS = 11, 1000


def rate_of(events, now_ms, **options):
    rate = SampledRate(WINDOWS, WINDOW_MS, **options)
    for time_ms, value in events:
        rate.record(value, time_ms)
    return rate.measure(now_ms)


@pytest.mark.parametrize(
    ("events", "now_ms", "expected"),
    [
        ([], 5, (0, 10)),
        ([(0, 100)], 0, (10, 10)),
        ([(0, 100)], 500, (100 / 10.5, 10.5)),
        ([(0, 100), (999, 10)], 9_999, (110 / 10.999, 10.999)),
        ([(0, 100), (1000, 10)], 10_500, (110 / 10.5, 10.5)),
        ([(0, 100), (1000, 10)], 11_000, (1, 10)),
        ([(0, 100)], 11_000, (0, 10)),
        ([(0, 100), (0, -100)], 0, (0, 10)),
    ],
)
def test_a_clients_rate_is_taken_over_ten_windows_at_least(events, now_ms, expected):
    assert rate_of(events, now_ms) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("events", "now_ms", "expected"),
    [([], 5, (0, 1)), ([(0, 100)], 0, (100, 1)), ([(0, 100)], 2500, (40, 2.5)), ([(0, 9)], 11_000, (0, 1))],
)
def test_a_simple_rate_is_taken_over_one_window_at_least(events, now_ms, expected):
    assert rate_of(events, now_ms, is_simple=True) == pytest.approx(expected)


def total_by_history(events, now_ms):
    """The sum of the windows that are no older than eleven, from all that ever was recorded."""
    windows = []
    for time_ms, value in events:
        if not windows or time_ms - windows[-1][0] >= WINDOW_MS:
            windows.append([time_ms, 0])
        windows[-1][1] += value
    return sum(value for start_ms, value in windows[-WINDOWS:] if now_ms - start_ms < WINDOWS * WINDOW_MS)


STEPS = st.lists(st.tuples(st.integers(0, 4_000), st.integers(0, 1_000)), max_size=60)


@given(STEPS, st.integers(0, 15_000))
def test_the_sum_is_that_of_the_whole_history(steps, later_ms):
    now_ms, events = 0, []
    for wait_ms, value in steps:
        now_ms += wait_ms
        events.append((now_ms, value))
    now_ms += later_ms
    per_second, window_s = rate_of(events, now_ms)
    assert per_second * window_s == pytest.approx(total_by_history(events, now_ms))
    assert 10 <= window_s < 11


@pytest.mark.parametrize(
    ("measured", "quota", "expected"),
    [
        (Measured(100, 10), 100, 0),
        (Measured(99, 10), 100, 0),
        (Measured(150, 10), 100, 5000),
        (Measured(101, 10), 100, 100),
        (Measured(1, 10), 0, 10_000),
        (Measured(0, 10), 0, 0),
    ],
)
def test_who_is_above_the_quota_waits_until_the_rate_would_fit(measured, quota, expected):
    assert throttle_ms(measured, quota) == expected
