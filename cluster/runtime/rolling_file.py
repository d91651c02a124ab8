"""A text file that is rolled every hour, as by log4j's ``DailyRollingFileAppender``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TextIO

_ROLL_PATTERN = "%Y-%m-%d-%H"


class HourlyRollingFile:
    """A buffered writer of whole lines; an earlier hour's file is renamed to ``<name>.yyyy-MM-dd-HH``.

    As in log4j a file that an earlier process left is rolled by the hour of its last change. One thread at a
    time may call it. A disk that refuses costs the lines at hand; what comes later is tried again.

    Args:
        path: The file; its directory is created.
        now: The local time at which it is opened.

    Raises:
        OSError: The disk refused; so do all methods.
    """

    def __init__(self, path: Path, now: datetime) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._hour = _hour_of_last_change(path) or _hour(now)
        self._file = self._open()
        self.roll_if_due(now)

    def write(self, text: str) -> None:
        """Buffer ``text``: one line or several, each with its newline."""
        if self._file.closed:  # as it is after a roll that failed half-way
            self._file = self._open()
        self._file.write(text)

    def flush(self) -> None:
        """Hand what is buffered to the operating system."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Flush and close; may be called again."""
        self._file.close()

    def _open(self) -> TextIO:
        return self.path.open("a", encoding="utf-8", errors="backslashreplace", buffering=64 * 1024)

    def roll_if_due(self, now: datetime) -> None:
        """Start a new file if ``now``, the local time, lies in a later hour than what was written last."""
        hour = _hour(now)
        if hour <= self._hour:
            return
        earlier = self.path.with_name(f"{self.path.name}.{self._hour.strftime(_ROLL_PATTERN)}")
        self._hour = hour  # a roll that fails is not tried again at every line
        try:
            self._file.close()
        finally:
            self.path.replace(earlier)
        self._file = self._open()


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0, tzinfo=None)


def _hour_of_last_change(path: Path) -> datetime | None:
    """The local hour in which a non-empty file was last written, or None where there is none."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return _hour(datetime.fromtimestamp(status.st_mtime).astimezone()) if status.st_size else None
