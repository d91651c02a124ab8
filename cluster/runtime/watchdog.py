"""A watchdog thread that notices a stuck event loop, and a heartbeat that measures the loop's turns.

kazoo sends its pings from a separate thread, so a broker with a stuck loop would keep its session and its
leaderships forever. The watchdog therefore ends the session of a loop that is silent for the session timeout.
"""

from __future__ import annotations

import asyncio
import math
import threading
import time
from collections.abc import Callable

_LOOKS_PER_TIMEOUT = 10
"""The number of times that the thread checks for heartbeats within the timeout."""

HEARTBEAT_S = 0.01
"""The seconds between two heartbeats of a busy loop, which is also the error of a measured turn."""

IDLE_HEARTBEAT_S = 0.04
"""The seconds between two heartbeats of an idle loop, which each of them wakes up.

100 wake-ups a second cost up to 1.2 % of a core; between the heartbeats of a busy loop they cost nothing.
"""

IDLE_CPU_S = 0.001
"""The CPU time between two heartbeats, in seconds, below which a loop is idle."""

WINDOW_S = 60.0
"""The length in seconds of a window; the recent longest turn is that of the last one to two windows."""

IDLE_WINDOW_S = 60.0
"""The time constant in seconds of the idle share (Kafka: ``Meter.oneMinuteRate``)."""


def heartbeat_s(used_s: float) -> float:
    """Return the seconds to the next heartbeat of a loop that used ``used_s`` of CPU time since the last."""
    return IDLE_HEARTBEAT_S if used_s < IDLE_CPU_S else HEARTBEAT_S


class LongestTurns:
    """The longest turns of a loop, since the start and recently. Pure: times are arguments.

    Attributes:
        ever: The longest turn since the start in seconds.
    """

    def __init__(self, now_s: float) -> None:
        self.ever = 0.0
        self._window_began = now_s
        self._current = self._previous = 0.0

    def add(self, turn_s: float, now_s: float) -> None:
        """Add a turn that ended at ``now_s``."""
        self._advance(now_s)
        self.ever = max(self.ever, turn_s)
        self._current = max(self._current, turn_s)

    def recent(self, now_s: float) -> float:
        """Return the longest turn in seconds of the current window and the one before.

        It changes nothing, because the metrics page calls it on another thread.
        """
        passed = int((now_s - self._window_began) // WINDOW_S)
        if passed > 0:
            return self._current if passed == 1 else 0.0
        return max(self._current, self._previous)

    def _advance(self, now_s: float) -> None:
        """Begin the window that contains ``now_s``."""
        passed = int((now_s - self._window_began) // WINDOW_S)
        if passed > 0:
            self._previous = self._current if passed == 1 else 0.0
            self._current = 0.0
            self._window_began += passed * WINDOW_S


class IdleShare:
    """The share of time in which a loop waits for work, as the one-minute rate of Kafka's meters. Pure.

    Attributes:
        share: From 0 to 1; recent time weighs more, with a time constant of `IDLE_WINDOW_S`.
    """

    def __init__(self) -> None:
        self.share = 1.0

    def add(self, busy_s: float, passed_s: float) -> None:
        """Add a period of ``passed_s`` seconds, in ``busy_s`` of which the loop worked."""
        if passed_s > 0:
            idle = 1.0 - min(1.0, busy_s / passed_s)
            self.share += (idle - self.share) * -math.expm1(-passed_s / IDLE_WINDOW_S)


class Watchdog:
    """The watchdog of a loop.

    Silence is measured in the watchdog's own wake-ups instead of by a clock. So a process that was stopped as
    a whole (SIGSTOP, a suspended laptop) does not count as silent; it learns from ZooKeeper whether its
    session survived.

    Args:
        timeout_s: The seconds for which the loop may be silent: the ZooKeeper session timeout.
        on_stuck: Called on the watchdog's thread, once for each silence that exceeds the timeout.
        on_lag: Called on the loop with two numbers for each heartbeat: the seconds by which it was late (the
            loop's lag), and an upper bound of the loop thread's CPU time in that. The rest was spent waiting
            for the disk or for other processes.

    Attributes:
        idle: The loop's idle share. Between two heartbeats the loop works as long as its thread uses CPU
            time, or as long as the heartbeat is late, whichever is longer: a late one waits for a turn that
            waits for the disk, or for a core.
    """

    def __init__(
        self,
        timeout_s: float,
        on_stuck: Callable[[], None],
        on_lag: Callable[[float, float], None] | None = None,
    ) -> None:
        self._interval = timeout_s / _LOOKS_PER_TIMEOUT
        # Heartbeats are at least twice as frequent as checks, so that one late heartbeat does not count as
        # silence.
        self._longest_pause_s = self._interval / 2
        self._on_stuck = on_stuck
        self._on_lag = on_lag
        self._beats = 0
        self._due = self._cpu_s = self._beat_at = 0.0
        self.idle = IdleShare()
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Start watching the running loop."""
        self._loop = asyncio.get_running_loop()
        self._cpu_s, self._beat_at = time.thread_time(), self._loop.time()
        self._schedule(HEARTBEAT_S)
        self._thread.start()

    def stop(self) -> None:
        """Stop watching; must be called on the loop."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self, pause_s: float) -> None:
        if self._loop is not None:
            self._due = self._loop.time() + min(pause_s, self._longest_pause_s)
            self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._beats += 1
        cpu_s = time.thread_time()
        used_s, self._cpu_s = cpu_s - self._cpu_s, cpu_s
        if self._loop is not None:
            now = self._loop.time()
            passed_s, self._beat_at = now - self._beat_at, now
            lag_s = max(0.0, now - self._due)
            self.idle.add(max(used_s, lag_s), passed_s)
            if self._on_lag is not None:
                self._on_lag(lag_s, min(lag_s, used_s))
        self._schedule(heartbeat_s(used_s))

    def _watch(self) -> None:
        seen, silent = -1, 0
        while not self._stopped.wait(self._interval):
            silent = silent + 1 if self._beats == seen else 0
            seen = self._beats
            if silent == _LOOKS_PER_TIMEOUT:
                self._on_stuck()
