"""state-change.log: the file in which a broker says every change of leadership, in Kafka's own words."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import structlog

from barnabas.cluster.model.statechange.levels import Level
from barnabas.cluster.model.statechange.line import StateChange
from barnabas.cluster.runtime.line_clock import LineClock
from barnabas.cluster.runtime.rolling_file import HourlyRollingFile

_log = structlog.get_logger("state.change.logger")

FILE_NAME = "state-change.log"

FLUSH_INTERVAL_S = 0.1
"""What was logged is in the file after this many seconds."""


class StateChangeLog:
    """Writes lines on the event loop; a buffer takes them, and a timer hands them to the operating system.

    Where the disk refuses, lines are lost and the broker goes on, as under log4j: that is told once, and once
    more when lines are written again.

    Args:
        path: The file, rolled hourly.
        level: The least level written (``state.change.log.level``).
        clock: Seconds since 1970.
    """

    def __init__(self, path: Path, level: Level, clock: Callable[[], float] = time.time) -> None:
        self._level = level
        self._file = HourlyRollingFile(path, LineClock(clock).now())
        self._stamps = LineClock(clock, on_second=self._file.roll_if_due)
        self._flush_timer: asyncio.TimerHandle | None = None
        self._closed = False
        self._is_refused = False

    def write(self, line: StateChange) -> None:
        """Log ``line`` if its level is not below the log's; after `close` it is dropped."""
        if line.level < self._level or self._closed:
            return
        with self._losses_told():
            stamp = self._stamps.stamp()
            self._file.write(line.entry(stamp))
        if self._flush_timer is None:
            self._flush_timer = asyncio.get_running_loop().call_later(FLUSH_INTERVAL_S, self.flush)

    def flush(self) -> None:
        """Hand what is buffered to the operating system now."""
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        if not self._closed:
            with self._losses_told():
                self._file.flush()
                self._told_again()

    def close(self) -> None:
        """Flush and close; may be called again."""
        self.flush()
        self._closed = True
        with self._losses_told():
            self._file.close()

    @contextmanager
    def _losses_told(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._is_refused:
                self._is_refused = True
                _log.error(f"Lines of {self._file.path} are lost: {error}")

    def _told_again(self) -> None:
        if self._is_refused:
            self._is_refused = False
            _log.warning(f"Lines of {self._file.path} are written again; some were lost")
