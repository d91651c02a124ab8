"""The figures of the performance tools."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.performance.perf_stats import (
    MB,
    Consumed,
    ProducerStats,
    Throttle,
    consumer_header,
    consumer_progress,
    consumer_total,
    format_time,
    number,
    ratio,
)

PATTERN = "yyyy-MM-dd HH:mm:ss:SSS"
START_MS = 1_609_502_400_000


@pytest.fixture
def _utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        time.tzset()
        yield
    time.tzset()


def test_numbers_are_divided_and_printed_as_in_java() -> None:
    assert (ratio(3, 2), ratio(1, 0)) == (1.5, math.inf)
    assert (number(ratio(1, 3), 4), number(ratio(1, 0), 2), number(ratio(0, 0), 2)) == (
        "0.3333",
        "Infinity",
        "NaN",
    )


def test_a_line_for_each_interval() -> None:
    stats = ProducerStats(4, 1000, 5000)
    assert stats.record(0, 3, MB, 1003) is None
    assert stats.record(1, 45, MB, 5999) is None
    assert stats.record(2, 0, MB, 6000) == (
        "3 records sent, 0.6 records/sec (0.60 MB/sec), 16.0 ms avg latency, 45.0 ms max latency."
    )
    assert stats.record(3, 10, MB, 11_000) == (
        "1 records sent, 0.2 records/sec (0.20 MB/sec), 10.0 ms avg latency, 10.0 ms max latency."
    )


def test_the_total_has_percentiles() -> None:
    stats = ProducerStats(1000, 0, 10**9)
    for each in range(1000):
        stats.record(each, each, 100, 500)
    assert stats.total(1000) == (
        "1000 records sent, 1000.000000 records/sec (0.10 MB/sec), 499.50 ms avg "
        "latency, 999.00 ms max latency, "
        "500 ms 50th, 950 ms 95th, 990 ms 99th, 999 ms 99.9th."
    )


def test_of_many_records_some_latencies_are_kept() -> None:
    stats = ProducerStats(1_000_000, 0, 10**9)
    for each in range(4):
        stats.record(each, each, 1, 1)
    assert " 2 ms 50th, 2 ms 95th" in stats.total(1000)


def test_nothing_was_sent() -> None:
    assert (
        ProducerStats(0, 5, 1).total(5).startswith("0 records sent, NaN records/sec (NaN MB/sec), NaN ms avg")
    )


@given(st.integers(1, 5000))
def test_as_many_are_sent_in_a_second_as_are_wanted(target: int) -> None:
    throttle, now_ns, sent = Throttle(target, 0), 0, 0
    while now_ns < 2_000_000_000:
        now_ns += throttle.sleep_ns(sent, now_ns // 1_000_000) + 50_000
        sent += 1
    # The first few records go out at once, and a short sleep is saved up.
    assert sent <= target * 2 + target // 100 + 25


def test_without_a_target_nothing_waits() -> None:
    assert Throttle(-1, 0).sleep_ns(10**9, 1) == 0
    assert Throttle(10, 5).sleep_ns(10**9, 5) == 0


@pytest.mark.usefixtures("_utc")
def test_the_consumers_figures() -> None:
    end = Consumed(START_MS + 4000, 100_000_000, 100_000)
    assert consumer_total(START_MS, end, 3200, PATTERN) == (
        "2021-01-01 12:00:00:000, 2021-01-01 12:00:04:000, 95.3674, 23.8419, 100000, 25000.0000, 3200, 800, "
        "119.2093, 125000.0000"
    )
    assert consumer_header(is_detailed=False) == (
        "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, "
        "nMsg.sec, rebalance.time.ms, "
        "fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
    )


@pytest.mark.usefixtures("_utc")
def test_the_consumers_progress() -> None:
    last, now = Consumed(START_MS, MB, 10), Consumed(START_MS + 5000, 6 * MB, 60)
    assert consumer_progress(last, now, 1000, PATTERN) == (
        "2021-01-01 12:00:05:000, 0, 6.0000, 1.0000, 60, 10.0000, 1000, 4000, 1.2500, 12.5000"
    )
    assert consumer_progress(last, now, 5000, PATTERN).endswith(", 5000, 0, 0.0000, 0.0000")
    assert consumer_header(is_detailed=True).startswith("time, threadId, data.consumed.in.MB, ")


@pytest.mark.usefixtures("_utc")
def test_times_follow_a_pattern() -> None:
    assert format_time("d.M.y 'at' HH''mm", START_MS + 60_007) == "1.1.2021 at 12'01"
    assert format_time("SSS", START_MS + 7) == "007"
    with pytest.raises(ToolError, match="Illegal pattern character 'Q'"):
        format_time("QQ", 0)
