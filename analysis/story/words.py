"""The words for times, spans, numbers and nodes; a fact, a bound and an unknown never read alike."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import date, datetime, timedelta
from enum import Enum
from fractions import Fraction

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant

NAMED = 4
"""The most partitions or clocks that a sentence names; it counts the rest."""

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
        case Fact(value=value) | Bound(at_least=None, at_most=value) if value == timedelta(0):
            # Lines have whole milliseconds, so two of one moment prove no more.
            return "for less than 1 ms"
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


def count(number: int, noun: str) -> str:
    """Format a number with its noun: ``1 partition``, ``1,200 partitions``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def listed(ids: Iterable[int]) -> str:
    """Format ids as ``1, 2 and 3``."""
    names = [str(each) for each in ids]
    return " and ".join((", ".join(names[:-1]), names[-1])) if len(names) > 1 else "".join(names)


def node(number: int, only_controllers: Collection[int]) -> str:
    """Name a node: ``Broker 1``, or ``Controller 1`` if it is no broker."""
    return f"{'Controller' if number in only_controllers else 'Broker'} {number}"


def nodes(ids: Sequence[int], only_controllers: Collection[int]) -> str:
    """Name nodes, those that are no brokers apart: ``brokers 1 and 2 and controller 3``."""
    brokers = [each for each in ids if each not in only_controllers]
    others = [each for each in ids if each in only_controllers]
    controllers = f"controller{'' if len(others) == 1 else 's'} {listed(others)}" if others else ""
    return " and ".join(each for each in (brokers_of(brokers) if brokers else "", controllers) if each)


def brokers_of(ids: Sequence[int]) -> str:
    """Name brokers: ``broker 1``, ``brokers 1, 2 and 3``."""
    return f"broker{'' if len(ids) == 1 else 's'} {listed(ids)}"


def partition_names(partitions: Sequence[str]) -> str:
    """Name partitions, and count those beyond ``NAMED``."""
    rest = len(partitions) - NAMED
    return f"{', '.join(partitions[:NAMED])}{f' and {rest:,} more' if rest > 0 else ''}"
