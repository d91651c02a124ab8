"""Conversion of brokers' local times to UTC, with one time zone lookup for each distinct minute."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

_MICROSECONDS = 1_000_000
_REMEMBERED_MAX = 100_000
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d", re.ASCII)
_END = round(datetime(2200, 1, 1, tzinfo=UTC).timestamp()) * _MICROSECONDS


def is_plausible(time_us: int) -> bool:
    """Return whether a number of microseconds since 1970 is a time of the years 1970 to 2199.

    Spans before and after such a time are times, too. A clock that was never set says 1970.
    """
    return 0 <= time_us < _END


class Clock:
    """A converter of times as log4j writes them.

    When clocks are set back, an hour occurs twice; its times are taken for the first occurrence.

    Args:
        zone: The brokers' time zone.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._minutes: dict[str, int | None] = {}

    @property
    def is_utc(self) -> bool:
        """Return whether the zone is ``UTC`` itself, not one that agrees with it at times."""
        return str(self._zone) == "UTC"

    def minute(self, text: str) -> int | None:
        """Return the microseconds since 1970, in UTC, of ``2026-11-21 03:12``; None if it is not a time."""
        if text not in self._minutes:
            if len(self._minutes) >= _REMEMBERED_MAX:
                self._minutes.clear()
            self._minutes[text] = _read(text, self._zone)
        return self._minutes[text]

    def moment(self, text: str) -> int | None:
        """Return the microseconds since 1970 in UTC of ``2026-11-21 03:12:45,678``; None if it is no time.

        A time with a ``Z`` at its end is in UTC, whatever the brokers' time zone.
        """
        minute = _read(text[:16], UTC) if text.endswith("Z") else self.minute(text[:16])
        seconds, millis = text[17:19], text[20:23]
        if minute is None or not (seconds.isdigit() and millis.isdigit()):
            return None
        return minute + int(seconds) * _MICROSECONDS + int(millis) * 1000


def _read(text: str, zone: tzinfo) -> int | None:
    if not _MINUTE.fullmatch(text):
        return None
    try:
        local = datetime.fromisoformat(text).replace(tzinfo=zone)
        time_us = round(local.astimezone(UTC).timestamp()) * _MICROSECONDS
    except (ValueError, OverflowError):
        # A day that does not exist, or an hour outside Python's calendar in UTC.
        return None
    return time_us if is_plausible(time_us) else None
