"""The levels of log lines, and ranges of Kafka releases."""

from __future__ import annotations

from enum import IntEnum

Release = tuple[int, ...]
"""A release number, such as ``(2, 8)`` or ``(0, 10, 1)``; a later release is a greater tuple."""

OUR_RELEASE: Release = (2, 8)
"""The release whose lines our brokers write."""


class Level(IntEnum):
    """The levels of log4j in order: a logger at INFO writes INFO, WARN and ERROR."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


def release(text: str) -> Release:
    """Parse ``"0.10.1"`` as ``(0, 10, 1)``.

    Raises:
        ValueError: The text is not numbers joined by dots.
    """
    return tuple(int(part) for part in text.split("."))


def is_between(moment: Release, since: Release, until: Release | None) -> bool:
    """Return whether ``since <= moment <= until``; a bound 2.5 includes all of 2.5.x, None is unbounded."""
    return since <= moment and (until is None or moment[: len(until)] <= until)


def spell_releases(since: Release, until: Release | None) -> str:
    """Format a range of releases as ``"2.6+"``, ``"0.8 to 1.0"``, or ``"0.8.0"`` for a single one."""
    first, last = (".".join(map(str, bound or ())) for bound in (since, until))
    if until is None:
        return f"{first}+"
    return first if since == until else f"{first} to {last}"
