"""A thread that notices when the event loop stands still, and a heartbeat that measures the loop's turns.

kazoo sends its pings from a thread of its own, so a broker whose loop is stuck would keep its session, and
with it its leaderships, for ever. The watchdog ends that: a loop silent for a session loses the session.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

_LOOKS_PER_TIMEOUT = 10
"""How often the thread looks for beats while the timeout lasts."""

HEARTBEAT_S = 0.01
"""Time between two beats, seconds: a turn of the loop is measured up to so much too short."""

WINDOW_S = 60.0
"""The recent longest turn is that of the last one to two windows of this length, seconds."""


class LongestTurns:
    """The longest turn of a loop, since the start and of late. Pure: the time comes as an argument.

    Attributes:
        ever: Seconds, since the start.
    """

    def __init__(self, now_s: float) -> None:
        self.ever = 0.0
        self._window_began = now_s
        self._current = self._previous = 0.0

    def add(self, turn_s: float, now_s: float) -> None:
        """Count a turn that ended at ``now_s``."""
        self._advance(now_s)
        self.ever = max(self.ever, turn_s)
        self._current = max(self._current, turn_s)

    def recent(self, now_s: float) -> float:
        """The longest turn, seconds, of the window that runs and the one before it."""
        self._advance(now_s)
        return max(self._current, self._previous)

    def _advance(self, now_s: float) -> None:
        """Begin the window that ``now_s`` lies in."""
        passed = int((now_s - self._window_began) // WINDOW_S)
        if passed > 0:
            self._previous = self._current if passed == 1 else 0.0
            self._current = 0.0
            self._window_began += passed * WINDOW_S


class Watchdog:
    """Watches one loop.

    Silence is counted in the watchdog's own wake-ups and not by a clock: a process that was stopped as a
    whole (SIGSTOP, a suspended laptop) has not been silent, and finds out at ZooKeeper whether its session
    survived.

    Args:
        timeout_s: How long the loop may be silent, seconds; the ZooKeeper session timeout.
        on_stuck: Called once for each silence, from the watchdog's thread, when it has lasted for longer.
        on_lag: Told, on the loop, how many seconds late each heartbeat was: the loop's lag, which is the
            part of its longest turn that lay behind the heartbeat's time. And how much of that was CPU time
            of the loop's thread at most, seconds: the rest it waited, for the disk or for other programs.
    """

    def __init__(
        self,
        timeout_s: float,
        on_stuck: Callable[[], None],
        on_lag: Callable[[float, float], None] | None = None,
    ) -> None:
        self._interval = timeout_s / _LOOKS_PER_TIMEOUT
        # Beats come at least twice as often as they are looked for, so that one late beat is no silence.
        self._heartbeat = min(HEARTBEAT_S, self._interval / 2)
        self._on_stuck = on_stuck
        self._on_lag = on_lag
        self._beats = 0
        self._due = self._cpu_s = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Watch the running loop from now on."""
        self._loop = asyncio.get_running_loop()
        self._cpu_s = time.thread_time()
        self._schedule()
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; to be called on the loop."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self) -> None:
        if self._loop is not None:
            self._due = self._loop.time() + self._heartbeat
            self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._beats += 1
        if self._loop is not None and self._on_lag is not None:
            lag_s, cpu_s = max(0.0, self._loop.time() - self._due), time.thread_time()
            self._on_lag(lag_s, min(lag_s, cpu_s - self._cpu_s))
            self._cpu_s = cpu_s
        self._schedule()

    def _watch(self) -> None:
        seen, silent = -1, 0
        while not self._stopped.wait(self._interval):
            silent = silent + 1 if self._beats == seen else 0
            seen = self._beats
            if silent == _LOOKS_PER_TIMEOUT:
                self._on_stuck()
