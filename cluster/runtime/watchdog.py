"""A thread that notices when the event loop stands still.

kazoo sends its pings from a thread of its own, so a broker whose loop is stuck would keep its session, and
with it its leaderships, for ever. The watchdog ends that: a loop silent for a session loses the session.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable

_BEATS_PER_TIMEOUT = 10


class Watchdog:
    """Watches one loop.

    Silence is counted in the watchdog's own wake-ups and not by a clock: a process that was stopped as a
    whole (SIGSTOP, a suspended laptop) has not been silent, and finds out at ZooKeeper whether its session
    survived.

    Args:
        timeout_s: How long the loop may be silent, seconds; the ZooKeeper session timeout.
        on_stuck: Called once for each silence, from the watchdog's thread, when it has lasted for longer.
        on_lag: Told, on the loop, how many seconds late each heartbeat was: the loop's lag.
    """

    def __init__(
        self,
        timeout_s: float,
        on_stuck: Callable[[], None],
        on_lag: Callable[[float], None] | None = None,
    ) -> None:
        self._interval = timeout_s / _BEATS_PER_TIMEOUT
        self._on_stuck = on_stuck
        self._on_lag = on_lag
        self._beats = 0
        self._due = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._watch, name="watchdog", daemon=True)

    def start(self) -> None:
        """Watch the running loop from now on."""
        self._loop = asyncio.get_running_loop()
        self._schedule()
        self._thread.start()

    def stop(self) -> None:
        """Watch no more; to be called on the loop."""
        self._stopped.set()
        if self._timer is not None:
            self._timer.cancel()

    def _schedule(self) -> None:
        if self._loop is not None:
            # Beats come twice as often as they are looked for, so that one late beat is no silence.
            self._due = self._loop.time() + self._interval / 2
            self._timer = self._loop.call_at(self._due, self._beat)

    def _beat(self) -> None:
        self._beats += 1
        if self._loop is not None and self._on_lag is not None:
            self._on_lag(max(0.0, self._loop.time() - self._due))
        self._schedule()

    def _watch(self) -> None:
        seen, silent = -1, 0
        while not self._stopped.wait(self._interval):
            silent = silent + 1 if self._beats == seen else 0
            seen = self._beats
            if silent == _BEATS_PER_TIMEOUT:
                self._on_stuck()
