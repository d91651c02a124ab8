"""state-change.log: the file in which a broker logs every change of leadership, in Kafka's format."""

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


class StateChangeLog:
    """A log that buffers the lines of one turn of the event loop, and flushes them before the next one.

    So a process that is killed loses the lines of one turn at most, and thousands of lines that a controller
    logs at once cost few writes.

    If the disk fails, lines are lost and the broker continues, as with log4j. The loss is logged once, and
    once more when lines are written again.

    Args:
        path: The file, rolled hourly.
        level: The lowest level that is written (``state.change.log.level``).
        clock: Returns seconds since 1970.
    """

    def __init__(self, path: Path, level: Level, clock: Callable[[], float] = time.time) -> None:
        self._level = level
        self._file = HourlyRollingFile(path, LineClock(clock).now())
        self._stamps = LineClock(clock, on_second=self._file.roll_if_due)
        self._due: asyncio.Handle | None = None
        self._closed = False
        self._is_refused = False

    def write(self, line: StateChange) -> None:
        """Write ``line`` if its level is high enough; after `close` lines are dropped."""
        if line.level < self._level or self._closed:
            return
        with self._losses_reported():
            stamp = self._stamps.stamp()
            self._file.write(line.entry(stamp))
        if self._due is None:
            self._due = asyncio.get_running_loop().call_soon(self.flush)

    def flush(self) -> None:
        """Write the buffer to the operating system now."""
        if self._due is not None:
            self._due.cancel()
            self._due = None
        if not self._closed:
            with self._losses_reported():
                self._file.flush()
                self._recovery_reported()

    def close(self) -> None:
        """Flush and close; repeated calls do nothing."""
        self.flush()
        self._closed = True
        with self._losses_reported():
            self._file.close()

    @contextmanager
    def _losses_reported(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            if not self._is_refused:
                self._is_refused = True
                _log.error(f"Lines of {self._file.path} are lost: {error}")

    def _recovery_reported(self) -> None:
        if self._is_refused:
            self._is_refused = False
            _log.warning(f"Lines of {self._file.path} are written again; some were lost")
