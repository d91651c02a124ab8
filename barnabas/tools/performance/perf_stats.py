"""The figures of the performance tools, and the pace of the producer.

Sources: ``ProducerPerformance.Stats`` and ``ThroughputThrottler`` in ``org.apache.kafka.tools``,
``kafka.tools.ConsumerPerformance`` of Kafka 2.8. Times are milliseconds since 1970; a MB has 2^20 bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from barnabas.tools.command_line.parser import ToolError

MB = 1024 * 1024
MOST_LATENCIES = 500_000
"""The most latencies that are kept for the percentiles; of a longer run only some are kept."""

PERCENTILES = (0.5, 0.95, 0.99, 0.999)
MIN_SLEEP_NS = 2_000_000


def ratio(part: float, whole: float) -> float:
    """Divide as Java does: by 0 the result is infinite or not a number."""
    if whole:
        return part / whole
    return math.inf if part else math.nan


def number(value: float, digits: int) -> str:
    """Format a number as Java does."""
    if math.isnan(value):
        return "NaN"
    return f"{value:.{digits}f}" if math.isfinite(value) else "Infinity"


class ProducerStats:
    """The figures of records that were sent.

    Args:
        records: How many records will be sent.
        start_ms: When the first one is sent.
        interval_ms: The time between two lines.
    """

    def __init__(self, records: int, start_ms: int, interval_ms: int) -> None:
        self._start_ms = start_ms
        self._interval_ms = interval_ms
        self._sampling = max(1, records // MOST_LATENCIES)
        self._latencies: list[int] = []
        self._count = self._bytes = self._total = self._max = 0
        self._window = _Window(start_ms)

    def record(self, number_: int, latency_ms: int, size: int, now_ms: int) -> str | None:
        """Count a record that was acknowledged or failed.

        Args:
            number_: Its number, from 0.
            latency_ms: How long it took.
            size: Its bytes.
            now_ms: The time.

        Returns:
            The line about the last interval if it is over.
        """
        self._count += 1
        self._bytes += size
        self._total += latency_ms
        self._max = max(self._max, latency_ms)
        self._window.add(latency_ms, size)
        if number_ % self._sampling == 0:
            self._latencies.append(latency_ms)
        if now_ms - self._window.start_ms < self._interval_ms:
            return None
        line = self._window.line(now_ms)
        self._window = _Window(now_ms)
        return line

    def total(self, now_ms: int) -> str:
        """Return the line about all records."""
        seconds = (now_ms - self._start_ms) / 1000
        latencies = sorted(self._latencies) or [0]
        of = [latencies[int(part * len(latencies))] for part in PERCENTILES]
        return (
            f"{self._count} records sent, {number(ratio(self._count, seconds), 6)} records/sec "
            f"({number(ratio(self._bytes / MB, seconds), 2)} MB/sec), "
            f"{number(ratio(self._total, self._count), 2)} ms avg latency, {self._max:.2f} ms max latency, "
            f"{of[0]} ms 50th, {of[1]} ms 95th, {of[2]} ms 99th, {of[3]} ms 99.9th."
        )


@dataclass(slots=True)
class _Window:
    """The figures of one interval."""

    start_ms: int
    count: int = 0
    size: int = 0
    total: int = 0
    longest: int = 0

    def add(self, latency_ms: int, size: int) -> None:
        self.count += 1
        self.size += size
        self.total += latency_ms
        self.longest = max(self.longest, latency_ms)

    def line(self, now_ms: int) -> str:
        seconds = (now_ms - self.start_ms) / 1000
        return (
            f"{self.count} records sent, {number(ratio(self.count, seconds), 1)} records/sec "
            f"({number(ratio(self.size / MB, seconds), 2)} MB/sec), "
            f"{self.total / self.count:.1f} ms avg latency, {self.longest:.1f} ms max latency."
        )


class Throttle:
    """Computes how long to sleep so that records are sent at the wanted rate.

    Args:
        target: Records per second; no limit if it is negative.
        start_ms: When the first one is sent.
    """

    def __init__(self, target: int, start_ms: int) -> None:
        self._target = target
        self._start_ms = start_ms
        self._owed_ns = 0

    def sleep_ns(self, sent: int, now_ms: int) -> int:
        """Return how long to sleep before the next record; short sleeps are saved up.

        Args:
            sent: The records before this one.
            now_ms: When this one was sent.
        """
        elapsed_s = (now_ms - self._start_ms) / 1000
        if self._target < 0 or elapsed_s <= 0 or sent / elapsed_s <= self._target:
            return 0
        self._owed_ns += 1_000_000_000 // self._target
        if self._owed_ns < MIN_SLEEP_NS:
            return 0
        owed, self._owed_ns = self._owed_ns, 0
        return owed


@dataclass(frozen=True, slots=True)
class Consumed:
    """The progress of a consumer up to a time.

    Attributes:
        when_ms: The time.
        size: The bytes of keys and values.
        count: The records.
    """

    when_ms: int
    size: int
    count: int


_FIGURES = "data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec"
_NEW_FIGURES = "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"


def consumer_header(*, is_detailed: bool) -> str:
    """Return the first line of the consumer's figures."""
    return f"{'time, threadId' if is_detailed else 'start.time, end.time'}, {_FIGURES}, {_NEW_FIGURES}"


def consumer_total(start_ms: int, end: Consumed, join_ms: int, pattern: str) -> str:
    """Return the line about all records that a consumer has read.

    Args:
        start_ms: When it started.
        end: What it has read in the end.
        join_ms: How long it waited for partitions.
        pattern: The format of times.
    """
    seconds, fetch_ms = (end.when_ms - start_ms) / 1000, end.when_ms - start_ms - join_ms
    times = f"{format_time(pattern, start_ms)}, {format_time(pattern, end.when_ms)}"
    return (
        f"{times}, {_rates(end, end.size, end.count, seconds)}, {join_ms}, {fetch_ms}, "
        f"{number(ratio(end.size / MB, fetch_ms / 1000), 4)}, {number(ratio(end.count, fetch_ms / 1000), 4)}"
    )


def consumer_progress(last: Consumed, now: Consumed, join_ms: int, pattern: str) -> str:
    """Return the line about an interval, of ``--show-detailed-stats``."""
    size, count, elapsed_ms = now.size - last.size, now.count - last.count, now.when_ms - last.when_ms
    fetch_ms = elapsed_ms - join_ms
    rates = (size / MB * 1000 / fetch_ms, count * 1000 / fetch_ms) if fetch_ms > 0 else (0.0, 0.0)
    return (
        f"{format_time(pattern, now.when_ms)}, 0, {_rates(now, size, count, elapsed_ms / 1000)}, {join_ms}, "
        f"{fetch_ms}, {rates[0]:.4f}, {rates[1]:.4f}"
    )


def _rates(until: Consumed, size: int, count: int, seconds: float) -> str:
    return (
        f"{until.size / MB:.4f}, {number(ratio(size / MB, seconds), 4)}, {until.count}, "
        f"{number(ratio(count, seconds), 4)}"
    )


_TOKEN = re.compile(r"'(?P<quoted>[^']*)'|(?P<letters>([A-Za-z])\3*)|(?P<other>[^A-Za-z']+)")
_FIELDS: dict[str, Callable[[datetime], int]] = {
    "y": lambda when: when.year,
    "M": lambda when: when.month,
    "d": lambda when: when.day,
    "H": lambda when: when.hour,
    "m": lambda when: when.minute,
    "s": lambda when: when.second,
    "S": lambda when: when.microsecond // 1000,
}
"""The letters of a pattern; Java knows more."""


def format_time(pattern: str, time_ms: int) -> str:
    """Format a time, in the zone of this machine, by a pattern of ``java.text.SimpleDateFormat``.

    Raises:
        ToolError: The pattern has a letter that is not supported.
    """
    when = datetime.fromtimestamp(time_ms // 1000).astimezone().replace(microsecond=time_ms % 1000 * 1000)
    text = ""
    for token in _TOKEN.finditer(pattern):
        letters = token["letters"]
        if letters is None:
            text += token["other"] or token["quoted"] or "'"
        elif letters[0] in _FIELDS:
            text += f"{_FIELDS[letters[0]](when):0{len(letters)}}"
        else:
            raise ToolError(
                f"Illegal pattern character '{letters[0]}'; expected one of {', '.join(_FIELDS)}",
            )
    return text
