"""The levels of a log line, and the releases of Kafka in which a line has a form or a level."""

from __future__ import annotations

from enum import IntEnum

Release = tuple[int, ...]
"""A release number: ``(2, 8)``, ``(0, 10, 1)``. Of two releases the later one is the greater tuple."""

OUR_RELEASE: Release = (2, 8)
"""The release whose lines our brokers write."""


class Level(IntEnum):
    """log4j's levels, in order: a logger at INFO writes INFO, WARN and ERROR."""

    TRACE = 0
    DEBUG = 1
    INFO = 2
    WARN = 3
    ERROR = 4


def release(text: str) -> Release:
    """``"0.10.1"`` as ``(0, 10, 1)``.

    Raises:
        ValueError: Where ``text`` is not numbers joined by dots.
    """
    return tuple(int(part) for part in text.split("."))


def is_between(moment: Release, since: Release, until: Release | None) -> bool:
    """Whether ``since <= moment <= until``; a bound ``2.5`` takes in all of 2.5.x, None means to this day."""
    return since <= moment and (until is None or moment[: len(until)] <= until)


def spell_releases(since: Release, until: Release | None) -> str:
    """A range of releases in words: ``"2.6+"``, ``"0.8 to 1.0"``, or ``"0.8.0"`` for one alone."""
    first, last = (".".join(map(str, bound or ())) for bound in (since, until))
    if until is None:
        return f"{first}+"
    return first if since == until else f"{first} to {last}"
