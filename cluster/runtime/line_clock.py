"""Timestamps of log lines in log4j's ``%d`` format: local time with comma and milliseconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from datetime import datetime


class LineClock:
    """A formatter of timestamps that formats date and time only once a second.

    Args:
        clock: Returns seconds since 1970.
        on_second: Called with the local time at the first timestamp of each second.
    """

    def __init__(
        self,
        clock: Callable[[], float] = time.time,
        on_second: Callable[[datetime], None] | None = None,
    ) -> None:
        self._clock = clock
        self._on_second = on_second
        self._second = -1
        self._text = ""

    def now(self) -> datetime:
        """Return the local time."""
        return datetime.fromtimestamp(self._clock()).astimezone()

    def stamp(self) -> str:
        """Format the current time as ``2026-11-21 03:12:45,678``."""
        seconds, milliseconds = divmod(int(self._clock() * 1000), 1000)
        if seconds != self._second:
            moment = datetime.fromtimestamp(seconds).astimezone()
            self._second = seconds
            self._text = moment.strftime("%Y-%m-%d %H:%M:%S,")
            if self._on_second is not None:
                self._on_second(moment)
        return f"{self._text}{milliseconds:03d}"
