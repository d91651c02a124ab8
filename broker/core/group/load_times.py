"""The longest and the average time that recent loads of ``__consumer_offsets`` took.

Source: ``GroupMetadataManager.partitionLoadSensor`` of Kafka 2.8, with the defaults of
``metrics.sample.window.ms`` and ``metrics.num.samples``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

from barnabas.broker.core.quotas.sampled_windows import Sample, SampledWindows

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
class _Loads(Sample):
    """The loads that ended in one window.

    Attributes:
        longest_ms: The time of the longest load.
        total_ms: The sum of all times.
        count: The number of loads.
    """

    longest_ms: int = 0
    total_ms: int = 0
    count: int = 0


class LoadTimes:
    """The times of the loads in the last windows; each call gives the present time of any monotonic clock."""

    def __init__(self) -> None:
        self._windows = SampledWindows(WINDOWS, WINDOW_MS, _Loads)

    def record(self, took_ms: int, now_ms: int) -> None:
        """Add a load that has just ended."""
        loads = self._windows.current(now_ms)
        loads.longest_ms = max(loads.longest_ms, took_ms)
        loads.total_ms += took_ms
        loads.count += 1

    def measure(self, now_ms: int) -> LoadTime:
        """Return the times of recent loads; changes nothing, so any thread may call it."""
        live = self._windows.live(now_ms)
        if not live:
            return LoadTime(math.nan, math.nan)
        average = sum(each.total_ms for each in live) / sum(each.count for each in live)
        return LoadTime(max(each.longest_ms for each in live), average)
