"""The rate at which a client or replica uses a quota, and the throttle time when the rate exceeds it.

Sources: ``Rate`` and ``SimpleRate`` of ``org.apache.kafka.common.metrics.stats``, and
``QuotaUtils.throttleTime``, of Kafka 2.8; KIP-13.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from barnabas.broker.core.quotas.sampled_windows import Sample, SampledWindows


@dataclass(slots=True)
class _Quantity(Sample):
    """The quantity that was recorded in one window.

    Attributes:
        value: The sum of what was recorded since.
    """

    value: float = 0.0


class Measured(NamedTuple):
    """A rate.

    Attributes:
        per_second: The units per second.
        window_s: The seconds over which it was taken.
    """

    per_second: float
    window_s: float


class SampledRate:
    """The units per second over the last windows; times in milliseconds of any clock that never goes back.

    Args:
        windows: How many windows are kept (``quota.window.num``).
        window_ms: The length of a window (``quota.window.size.seconds``).
        is_simple: Whether the rate is taken over the time since the oldest window began, at least one window
            (``SimpleRate``, for replication). Else it is taken over all windows but one at least (``Rate``,
            for clients), so that a client's first request does not exceed it.
    """

    __slots__ = ("_is_simple", "_samples", "_window_ms", "_windows")

    def __init__(self, windows: int, window_ms: int, *, is_simple: bool = False) -> None:
        self._windows = windows
        self._window_ms = window_ms
        self._is_simple = is_simple
        self._samples = SampledWindows(windows, window_ms, _Quantity)

    def record(self, value: float, now_ms: int) -> None:
        """Add ``value`` units, or take back what was recorded if it is negative."""
        self._samples.current(now_ms).value += value

    def measure(self, now_ms: int) -> Measured:
        """Return the present rate; changes nothing, so any thread may call it."""
        live = self._samples.live(now_ms)
        elapsed_ms = now_ms - min((sample.start_ms for sample in live), default=now_ms)
        if self._is_simple:
            elapsed_ms = max(elapsed_ms, self._window_ms)
        else:
            missing = self._windows - 1 - elapsed_ms // self._window_ms
            elapsed_ms += max(missing, 0) * self._window_ms
        window_s = elapsed_ms / 1000
        total = sum(sample.value for sample in live)
        return Measured(total / window_s if window_s else 0.0, window_s)


def throttle_ms(measured: Measured, quota: float) -> int:
    """Return the milliseconds until the rate over the same windows falls to ``quota``; 0 if it is not above.

    A quota of 0 lets nothing through for the whole window.
    """
    excess = measured.per_second - quota
    if excess <= 0:
        return 0
    if quota <= 0:
        return round(measured.window_s * 1000)
    return round(excess / quota * measured.window_s * 1000)
