"""The throttle of the log cleaner: how long to pause so that a rate of bytes is kept.

Source: ``core/utils/Throttler.scala`` of Kafka 2.8.
"""

from __future__ import annotations

CHECK_INTERVAL_S = 0.3
"""The interval in seconds at which the rate is checked."""


class Throttle:
    """Counts bytes over periods of `CHECK_INTERVAL_S` or more.

    Args:
        now_s: The time of a clock that never goes back, in seconds.
    """

    def __init__(self, now_s: float) -> None:
        self._period_start_s = now_s
        self._bytes = 0

    def moved(self, count: int, bytes_per_s: float, now_s: float) -> float:
        """Count bytes; return for how many seconds to pause, mostly 0.

        Args:
            count: The bytes that were read or written.
            bytes_per_s: The rate to keep.
            now_s: The time, by the clock of the constructor.
        """
        self._bytes += count
        elapsed_s = now_s - self._period_start_s
        if elapsed_s < CHECK_INTERVAL_S or not self._bytes:
            return 0.0
        pause_s = max(0.0, self._bytes / bytes_per_s - elapsed_s)
        self._period_start_s, self._bytes = now_s + pause_s, 0
        return pause_s
