"""The longest and the average time that recent loads of ``__consumer_offsets`` took.

Sources: ``GroupMetadataManager.partitionLoadSensor`` and ``SampledStat`` of Kafka 2.8, with the defaults of
``metrics.sample.window.ms`` and ``metrics.num.samples``.
"""

from __future__ import annotations

import math
from collections import deque
from dataclasses import dataclass
from typing import NamedTuple

WINDOW_MS = 30_000
"""The length of a window in milliseconds."""

WINDOWS = 2
"""The number of windows that count."""


class LoadTime(NamedTuple):
    """The times that recent loads took, in milliseconds; not a number if there was none.

    Attributes:
        longest: The time of the longest one.
        average: The mean of all.
    """

    longest: float
    average: float


@dataclass(slots=True)
class _Window:
    """The loads that ended in one window.

    Attributes:
        start_ms: When the window began.
        longest_ms: The time of the longest load.
        total_ms: The sum of all times.
        count: The number of loads.
    """

    start_ms: int
    longest_ms: int = 0
    total_ms: int = 0
    count: int = 0


class LoadTimes:
    """The times of the loads in the last windows; each call gives the present time of any monotonic clock."""

    def __init__(self) -> None:
        self._windows: deque[_Window] = deque(maxlen=WINDOWS)

    def record(self, took_ms: int, now_ms: int) -> None:
        """Add a load that has just ended."""
        if not self._windows or now_ms - self._windows[-1].start_ms >= WINDOW_MS:
            self._windows.append(_Window(now_ms))
        window = self._windows[-1]
        window.longest_ms = max(window.longest_ms, took_ms)
        window.total_ms += took_ms
        window.count += 1

    def measure(self, now_ms: int) -> LoadTime:
        """Return the times of recent loads; changes nothing, so any thread may call it."""
        live = [each for each in tuple(self._windows) if now_ms - each.start_ms < WINDOWS * WINDOW_MS]
        if not live:
            return LoadTime(math.nan, math.nan)
        average = sum(each.total_ms for each in live) / sum(each.count for each in live)
        return LoadTime(max(each.longest_ms for each in live), average)
