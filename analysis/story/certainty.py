"""The certainty of a value: ``Fact``, ``Bound`` or ``Unknown``, each with the lines that prove it.

The three types share no attribute that holds the value, so code that formats a bound as a fact does not
type-check. A bound stays true if any lines of the logs are missing.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Generic, NamedTuple, TypeVar

T = TypeVar("T", datetime, timedelta)


_SECOND = timedelta(seconds=1)

_CLOCK = re.compile(r"\d\d:\d\d:\d\d([.,]\d)?")
"""The time of day in a line, with the first digit of its fraction."""

_BEGIN = 200
"""The characters of a line in which its own time is."""


class Line(NamedTuple):
    """The place of a line, as in the table ``events``, and its text.

    Attributes:
        source: The file.
        block: The first byte of the split.
        number: The line in the split; the first is 1.
        text: The first line of the entry.
        broker: The broker that wrote it; None if that is not known.
    """

    source: str
    block: int
    number: int
    text: str
    broker: int | None = None

    @property
    def is_in_seconds(self) -> bool:
        """Return whether its time is a whole second, as log4j cuts it off: it was written up to 1 s later."""
        found = _CLOCK.search(self.text, 0, _BEGIN)
        return found is not None and found[1] is None


Lines = tuple[Line, ...]


@dataclass(frozen=True, slots=True)
class Fact(Generic[T]):
    """A value that a line states.

    Attributes:
        value: The value.
        lines: The lines that state it.
    """

    value: T
    lines: Lines = ()


@dataclass(frozen=True, slots=True)
class Bound(Generic[T]):
    """A value between two that the lines prove; at least one of them is known.

    Attributes:
        at_least: The lower end; None if nothing bounds the value from below.
        at_most: The upper end; None if nothing bounds the value from above.
        lines: The lines that prove both ends.
    """

    at_least: T | None
    at_most: T | None
    lines: Lines = ()


@dataclass(frozen=True, slots=True)
class Unknown:
    """A value that the lines neither state nor bound.

    Attributes:
        why: What is missing.
        lines: The lines that raise the question.
    """

    why: str
    lines: Lines = field(default=())


Instant = Fact[datetime] | Bound[datetime] | Unknown
"""A moment."""

Duration = Fact[timedelta] | Bound[timedelta] | Unknown
"""A span of time, never negative."""


def earliest(instant: Instant) -> datetime | None:
    """Return the earliest moment that the lines allow; None if there is none."""
    if isinstance(instant, Fact):
        return instant.value
    return instant.at_least if isinstance(instant, Bound) else None


def latest(instant: Instant) -> datetime | None:
    """Return the latest moment that the lines allow; None if there is none."""
    if isinstance(instant, Fact):
        return instant.value
    return instant.at_most if isinstance(instant, Bound) else None


def by(instant: Instant) -> datetime:
    """Return the latest moment of what a line shows to have happened: each line has a time.

    Raises:
        ValueError: Nothing bounds the moment from above.
    """
    known = latest(instant)
    if known is None:
        raise ValueError(f"{instant} has no latest moment")
    return known


def moment(at_least: datetime | None, at_most: datetime | None, lines: Lines, why: str) -> Instant:
    """Return the moment between two others: a fact if they are equal, unknown (``why``) if both are None."""
    if at_least is None and at_most is None:
        return Unknown(why, lines)
    if at_least == at_most and at_most is not None:
        return Fact(at_most, lines)
    if at_least is not None and at_most is not None and at_least > at_most:
        # Two clocks contradict each other; the later end is the one that a witness saw.
        return Bound(None, at_most, lines)
    return Bound(at_least, at_most, lines)


def between(begin: Instant, end: Instant) -> Duration:
    """Return the span from one moment to another; unknown if the end is surely before the begin.

    Lines by which it is prove that clocks differ, or that one of them is misread.
    """
    lines = (*begin.lines, *end.lines)
    least_end, most_begin = earliest(end), latest(begin)
    most_end, least_begin = latest(end), earliest(begin)
    if most_end is not None and least_begin is not None and most_end < least_begin:
        return Unknown("by the logs it ended before it began", lines)
    if isinstance(begin, Fact) and isinstance(end, Fact):
        return Fact(end.value - begin.value, lines)
    at_least = None if least_end is None or most_begin is None else max(least_end - most_begin, timedelta(0))
    at_most = None if most_end is None or least_begin is None else most_end - least_begin
    if not at_least and at_most is None:
        return Unknown("the logs show neither when it began nor when it ended", lines)
    return Bound(at_least or None, at_most, lines)


def as_timed(span: Duration, lines: Lines) -> Duration:
    """Return a span with the bounds that are true if lines that bound it have times in whole seconds."""
    if isinstance(span, Unknown) or not any(line.is_in_seconds for line in lines):
        return span
    least, most = (span.value, span.value) if isinstance(span, Fact) else (span.at_least, span.at_most)
    at_least = None if least is None or least <= _SECOND else least - _SECOND
    if at_least is None and most is None:
        return Unknown("the times of the lines are whole seconds", span.lines)
    return Bound(at_least, None if most is None else most + _SECOND, span.lines)
