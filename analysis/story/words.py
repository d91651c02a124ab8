"""The words for times and spans; a fact, a bound and an unknown never read alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant

_MICROSECOND = timedelta(microseconds=1)
_MILLISECOND = timedelta(milliseconds=1)


class Rounding(Enum):
    """The way in which a span is rounded: a lower bound must not grow, an upper bound must not shrink."""

    NEAREST = "nearest"
    DOWN = "down"
    UP = "up"


_ROUND: dict[Rounding, Callable[[Fraction], int]] = {
    Rounding.NEAREST: round,
    Rounding.DOWN: math.floor,
    Rounding.UP: math.ceil,
}


def duration(span: timedelta, rounding: Rounding = Rounding.NEAREST) -> str:
    """Format a span of time, such as ``25 ms``, ``4.4 s``, ``2 min 32 s`` or ``3 h 5 min``."""

    def whole(unit: timedelta) -> int:
        # A fraction, because 3.95 s as a float is a little more than that.
        return _ROUND[rounding](Fraction(span // _MICROSECOND, unit // _MICROSECOND))

    if (ms := whole(_MILLISECOND)) < 1_000:
        return f"{ms} ms"
    if (tenths := whole(100 * _MILLISECOND)) < 600:
        return f"{tenths / 10:.1f} s"
    minutes, seconds = divmod(whole(timedelta(seconds=1)), 60)
    if minutes < 60:
        return f"{minutes} min {seconds} s"
    hours, minutes = divmod(whole(timedelta(minutes=1)), 60)
    return f"{hours} h {minutes} min" if hours < 48 else f"{whole(timedelta(days=1) / 10) / 10:.1f} days"


def clock(time: datetime, day: date | None = None) -> str:
    """Format a time to the millisecond, with its date unless that is ``day``."""
    text = time.isoformat(" ", timespec="milliseconds")
    return text[11:] if time.date() == day else text


def at(instant: Instant, day: date | None = None) -> str:
    """Format a moment with its preposition; each certainty has its own words."""
    match instant:
        case Fact(value=value):
            return f"at {clock(value, day)}"
        case Bound(at_least=None, at_most=value) if value is not None:
            return f"at {clock(value, day)} or before"
        case Bound(at_least=value, at_most=None) if value is not None:
            return f"after {clock(value, day)}"
        case Bound(at_least=low, at_most=high) if low is not None and high is not None:
            return f"between {clock(low, day)} and {clock(high, day)}"
    return "at an unknown time"


def lasted(span: Duration) -> str:
    """Format a duration with its preposition; each certainty has its own words."""
    match span:
        case Fact(value=value):
            return f"for {duration(value)}"
        case Bound(at_least=None, at_most=value) if value is not None:
            return f"for at most {duration(value, Rounding.UP)}"
        case Bound(at_least=value, at_most=None) if value is not None:
            return f"for at least {duration(value, Rounding.DOWN)}"
        case Bound(at_least=low, at_most=high) if low is not None and high is not None:
            least, most = duration(low, Rounding.DOWN), duration(high, Rounding.UP)
            return f"for at least {least} and at most {most}"
    return "for an unknown time"
