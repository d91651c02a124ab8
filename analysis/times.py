"""Broker's local times to UTC, by the minute: what ``2026-11-21 03:12`` is in a time zone is asked once."""

from __future__ import annotations

import re
from datetime import UTC, datetime, tzinfo

_MICROSECONDS = 1_000_000
_REMEMBERED_MAX = 100_000
_MINUTE = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d", re.ASCII)


class Clock:
    """Reads times as log4j writes them.

    Where clocks are set back an hour comes twice; its times are taken for those of the first one.

    Args:
        zone: The brokers' time zone.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._minutes: dict[str, int | None] = {}

    def minute(self, text: str) -> int | None:
        """The microseconds since 1970 in UTC at ``2026-11-21 03:12``; None where that is no time."""
        if text not in self._minutes:
            if len(self._minutes) >= _REMEMBERED_MAX:
                self._minutes.clear()
            self._minutes[text] = self._read(text)
        return self._minutes[text]

    def moment(self, text: str) -> int | None:
        """The same at ``2026-11-21 03:12:45,678``."""
        minute = self.minute(text[:16])
        seconds, millis = text[17:19], text[20:23]
        if minute is None or not (seconds.isdigit() and millis.isdigit()):
            return None
        return minute + int(seconds) * _MICROSECONDS + int(millis) * 1000

    def _read(self, text: str) -> int | None:
        if not _MINUTE.fullmatch(text):
            return None
        try:
            local = datetime.fromisoformat(text).replace(tzinfo=self._zone)
            return round(local.astimezone(UTC).timestamp()) * _MICROSECONDS
        except (ValueError, OverflowError):
            # A day that does not exist; the first and the last hours that Python knows, elsewhere on earth.
            return None
