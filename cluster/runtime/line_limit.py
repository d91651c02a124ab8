"""A limit on log lines of each kind, for lines that remote peers can cause.

A peer that sends junk in a loop could otherwise fill a broker's disk with equal lines. In each window of time
a few lines of each kind are written; at its end the number of suppressed lines is logged.

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

from barnabas.cluster.model.log_text import printable, shortened

_log = structlog.get_logger(__name__)

LINES_PER_WINDOW = 10
"""The most lines of a kind that are written in a window."""

MOST_KINDS = 1_000
"""The most kinds at a time; what peers name beyond them has one limit together."""

WINDOW_S = 60.0
"""The length of a window in seconds; it begins with the kind's first line."""


@dataclass(slots=True)
class _Window:
    """The lines of a kind since ``began`` (seconds)."""

    began: float
    written: int = 0
    suppressed: int = 0


class LineLimit:
    """The limit as a pure function of kinds and times.

    There are few kinds, because their names are constants in the code, or those of `kind_of`.

    Args:
        lines: The most lines of a kind in a window.
        window_s: The length of a window in seconds.
    """

    def __init__(self, lines: int = LINES_PER_WINDOW, window_s: float = WINDOW_S) -> None:
        self._lines = lines
        self._window_s = window_s
        self._windows: dict[str, _Window] = {}
        self._suppressed: dict[str, int] = {}

    def admit(self, kind: str, now_s: float, lines: int | None = None) -> bool:
        """Return whether to write a line of this kind, ``lines`` of which may be written; count it if not."""
        window = self._windows.get(kind)
        if window is None or self._close(kind, window, now_s):
            window = self._windows[kind] = _Window(now_s)
        if window.written < (self._lines if lines is None else lines):
            window.written += 1
            return True
        window.suppressed += 1
        return False

    def kind_of(self, kind: str, subject: str) -> str:
        """Return the kind of lines of this kind about a subject, which peers may name.

        `MOST_KINDS` of them are distinguished at a time, so that names cannot fill the memory.
        """
        own = f"{kind} of {printable(shortened(subject))}"
        has_its_own = own in self._windows or len(self._windows) < MOST_KINDS
        return own if has_its_own else f"{kind} of others"

    def ended(self, now_s: float) -> dict[str, int]:
        """Return once for each ended window how many lines of its kind were suppressed."""
        for kind, window in tuple(self._windows.items()):
            self._close(kind, window, now_s)
        ended, self._suppressed = self._suppressed, {}
        return ended

    def _close(self, kind: str, window: _Window, now_s: float) -> bool:
        """Remove a window if it has ended, keeping its count, and return whether it had ended."""
        if now_s - window.began < self._window_s:
            return False
        del self._windows[kind]
        if window.suppressed:
            self._suppressed[kind] = self._suppressed.get(kind, 0) + window.suppressed
        return True


class LimitedLines:
    """The limit of a process, for use from any thread.

    Args:
        clock: Returns monotonic seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._limit = LineLimit()
        self._lock = threading.Lock()

    def allow(self, kind: str, lines: int | None = None) -> bool:
        """Return whether to write a line of this kind now.

        Args:
            kind: The kind.
            lines: The most lines of this kind in a window; None for `LINES_PER_WINDOW`.
        """
        with self._lock:
            return self._limit.admit(kind, self._clock(), lines)

    def allow_of(self, kind: str, subject: str, lines: int) -> bool:
        """Return whether to write a line about a subject now; each subject has a limit of its own."""
        with self._lock:
            return self._limit.admit(self._limit.kind_of(kind, subject), self._clock(), lines)

    def log_suppressed(self, *, at_the_end: bool = False) -> None:
        """Log how many lines were suppressed in the ended windows, or with ``at_the_end`` in all windows."""
        with self._lock:
            ended = self._limit.ended(float("inf") if at_the_end else self._clock())
        for kind, count in ended.items():
            _log.warning(f"Suppressed {count} more lines of the kind: {kind}")


LINES = LimitedLines()
"""The limit of this process."""


class LibraryLines(logging.Filter):
    """A filter that limits libraries' lines by logger and level; gRPC logs a traceback for each bad call."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to write ``record``.

        The decision is stored in it, because each handler calls this.
        """
        if isinstance(record.msg, dict):  # a line of ours, from structlog
            return True
        decided: bool | None = getattr(record, "is_allowed", None)
        if decided is None:
            decided = record.is_allowed = LINES.allow(f"{record.name} {record.levelname}")
        return decided
