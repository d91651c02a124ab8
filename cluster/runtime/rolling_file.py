"""A text file that is rolled every hour, like log4j's ``DailyRollingFileAppender``."""

from __future__ import annotations

from datetime import datetime
from pathlib import Path
from typing import TextIO

_ROLL_PATTERN = "%Y-%m-%d-%H"


class HourlyRollingFile:
    """A buffered writer of whole lines that renames an earlier hour's file to ``<name>.yyyy-MM-dd-HH``.

    As in log4j, a file of an earlier process is rolled by the hour of its last change. Only one thread at a
    time may call the methods. If the disk fails, the current lines are lost; later ones are tried again.

    Args:
        path: The file, whose directory is created.
        now: The local time.

    Raises:
        OSError: The disk failed; all methods may raise it.
    """

    def __init__(self, path: Path, now: datetime) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        self._hour = _hour_of_last_change(path) or _hour(now)
        self._file = self._open()
        self.roll_if_due(now)

    def write(self, text: str) -> None:
        """Buffer one or several lines, each with its line feed."""
        if self._file.closed:  # after a roll that failed half-way
            self._file = self._open()
        self._file.write(text)

    def flush(self) -> None:
        """Write the buffer to the operating system."""
        if not self._file.closed:
            self._file.flush()

    def close(self) -> None:
        """Flush and close; repeated calls do nothing."""
        self._file.close()

    def _open(self) -> TextIO:
        return self.path.open("a", encoding="utf-8", errors="backslashreplace", buffering=64 * 1024)

    def roll_if_due(self, now: datetime) -> None:
        """Start a new file if ``now``, the local time, is in a later hour than the last write."""
        hour = _hour(now)
        if hour <= self._hour:
            return
        earlier = self.path.with_name(f"{self.path.name}.{self._hour.strftime(_ROLL_PATTERN)}")
        self._hour = hour  # do not retry a failed roll at every line
        try:
            self._file.close()
        finally:
            self.path.replace(earlier)
        self._file = self._open()


def _hour(moment: datetime) -> datetime:
    return moment.replace(minute=0, second=0, microsecond=0, tzinfo=None)


def _hour_of_last_change(path: Path) -> datetime | None:
    """Return the local hour in which a non-empty file was last written; None if there is no such file."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return None
    return _hour(datetime.fromtimestamp(status.st_mtime).astimezone()) if status.st_size else None
