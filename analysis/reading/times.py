"""Conversion of brokers' local times to UTC, with one time zone lookup for each distinct minute."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

_MICROSECONDS = 1_000_000
MINUTE = 60 * _MICROSECONDS
"""A minute in microseconds."""

_REMEMBERED_MAX = 100_000
_DAY = timedelta(days=1)
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

    Attributes:
        repeated: The minutes read so far that occurred twice, each with the microseconds until it occurred
            again.
    """

    def __init__(self, zone: tzinfo) -> None:
        self._zone = zone
        self._minutes: dict[str, int | None] = {}
        self.repeated: dict[int, int] = {}

    @property
    def is_utc(self) -> bool:
        """Return whether the zone is ``UTC`` itself, not one that agrees with it at times."""
        return str(self._zone) == "UTC"

    def minute(self, text: str) -> int | None:
        """Return the microseconds since 1970, in UTC, of ``2026-11-21 03:12``; None if it is not a time."""
        if text not in self._minutes:
            if len(self._minutes) >= _REMEMBERED_MAX:
                self._minutes.clear()
            first, again = (_read(text, self._zone, fold) for fold in (0, 1))
            if first is not None and again is not None and first < again:
                self.repeated[first] = again - first
            self._minutes[text] = first
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


def repeated_times(zone: tzinfo, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Return the local times that occurred twice, as clocks were set back, each with its begin and end.

    Args:
        zone: The time zone.
        start: The time in UTC from which on they count.
        end: The time in UTC until which they count.
    """
    found = []
    before, day = start.replace(tzinfo=UTC) - _DAY, start.replace(tzinfo=UTC)
    while before <= end.replace(tzinfo=UTC):
        if _offset(zone, day) < _offset(zone, before):
            change = _change(zone, before, day)
            begin, until = (change.replace(tzinfo=None) + _offset(zone, at) for at in (day, before))
            if change - (until - begin) <= end.replace(tzinfo=UTC) and start.replace(tzinfo=UTC) < change + (
                until - begin
            ):
                found.append((begin, until))
        before, day = day, day + _DAY
    return found


def zone_of(name: str) -> tzinfo | None:
    """Return the time zone with a name; None for an offset without one, which never changes."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError):
        return None


def doubled_spans(name: str, start: datetime, end: datetime) -> list[tuple[datetime, datetime]]:
    """Return the spans in UTC whose local times occurred twice, both passes in one.

    Args:
        name: The name of the time zone.
        start: The time in UTC from which on they count.
        end: The time in UTC until which they count.
    """
    zone = zone_of(name)
    if zone is None:
        return []

    def utc(local: datetime, fold: int) -> datetime:
        return local.replace(tzinfo=zone, fold=fold).astimezone(UTC).replace(tzinfo=None)

    return [(utc(begin, 0), utc(until, 1)) for begin, until in repeated_times(zone, start, end)]


def _change(zone: tzinfo, before: datetime, after: datetime) -> datetime:
    """Return the first minute with the later offset of two times within which the offset changes once."""
    old = _offset(zone, before)
    low, high = 0, (after - before) // timedelta(minutes=1)
    while high - low > 1:
        middle = (low + high) // 2
        is_old = _offset(zone, before + timedelta(minutes=middle)) == old
        low, high = (middle, high) if is_old else (low, middle)
    change = before + timedelta(minutes=high)
    return change.replace(second=0, microsecond=0)


def _offset(zone: tzinfo, time: datetime) -> timedelta:
    return time.astimezone(zone).utcoffset() or timedelta(0)


def _read(text: str, zone: tzinfo, fold: int = 0) -> int | None:
    if not _MINUTE.fullmatch(text):
        return None
    try:
        local = datetime.fromisoformat(text).replace(tzinfo=zone, fold=fold)
        time_us = round(local.astimezone(UTC).timestamp()) * _MICROSECONDS
    except (ValueError, OverflowError):
        # A day that does not exist, or an hour outside Python's calendar in UTC.
        return None
    return time_us if is_plausible(time_us) else None
