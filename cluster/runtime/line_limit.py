"""A limit on the lines of each kind that a process writes, for lines that somebody outside can cause.

Who sends junk to a broker in a loop would fill its disk with lines that all say the same. Of each kind a few
lines are written in a window of time, and how many more there were is told when it ends.

>>> if LINES.allow("closing a client connection: idle"):
...     _log.info("closing a client connection", reason="idle", peer=peer)
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

import structlog

_log = structlog.get_logger(__name__)

LINES_PER_WINDOW = 10
"""So many lines of a kind are written in a window."""

WINDOW_S = 60.0
"""The length of a window, seconds; it begins with a kind's first line."""


@dataclass(slots=True)
class _Window:
    """The lines of one kind since ``began`` (seconds)."""

    began: float
    written: int = 0
    suppressed: int = 0


class LineLimit:
    """Decides which lines are written. Pure: the time comes as an argument.

    Kinds are few: each is named by a place in the code, never by what a peer sent.

    Args:
        lines: The most lines of a kind in a window.
        window_s: The length of a window, seconds.
    """

    def __init__(self, lines: int = LINES_PER_WINDOW, window_s: float = WINDOW_S) -> None:
        self._lines = lines
        self._window_s = window_s
        self._windows: dict[str, _Window] = {}
        self._suppressed: dict[str, int] = {}

    def admit(self, kind: str, now_s: float) -> bool:
        """Whether a line of this kind is to be written; one that is not is counted."""
        window = self._windows.get(kind)
        if window is None or self._close(kind, window, now_s):
            window = self._windows[kind] = _Window(now_s)
        if window.written < self._lines:
            window.written += 1
            return True
        window.suppressed += 1
        return False

    def ended(self, now_s: float) -> dict[str, int]:
        """How many lines of each kind were suppressed in the windows that have ended; each is told once."""
        for kind, window in tuple(self._windows.items()):
            self._close(kind, window, now_s)
        told, self._suppressed = self._suppressed, {}
        return told

    def _close(self, kind: str, window: _Window, now_s: float) -> bool:
        """Forget a window that has ended, but for what was suppressed in it; whether it had ended."""
        if now_s - window.began < self._window_s:
            return False
        del self._windows[kind]
        if window.suppressed:
            self._suppressed[kind] = self._suppressed.get(kind, 0) + window.suppressed
        return True


class LimitedLines:
    """The limit of one process; any thread may ask.

    Args:
        clock: Seconds, monotonic.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._limit = LineLimit()
        self._lock = threading.Lock()

    def allow(self, kind: str) -> bool:
        """Whether a line of this kind is to be written now."""
        with self._lock:
            return self._limit.admit(kind, self._clock())

    def tell_suppressed(self, *, at_the_end: bool = False) -> None:
        """Log how many lines were suppressed in the windows that have ended, or at the end in all windows."""
        with self._lock:
            told = self._limit.ended(float("inf") if at_the_end else self._clock())
        for kind, count in told.items():
            _log.warning(f"Suppressed {count} more lines of the kind: {kind}")


LINES = LimitedLines()
"""The limit of this process."""


class LibraryLines(logging.Filter):
    """Limits the lines of libraries by logger and level: gRPC logs a traceback for each unreadable call."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether ``record`` is written; the answer is kept in it, as each handler asks."""
        if isinstance(record.msg, dict):  # structlog's: one of our own lines
            return True
        decided: bool | None = getattr(record, "is_allowed", None)
        if decided is None:
            decided = record.is_allowed = LINES.allow(f"{record.name} {record.levelname}")
        return decided
