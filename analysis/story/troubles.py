"""A broker's own lines about trouble around its absence: threads that died before, starts that failed."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine

_BEFORE = timedelta(minutes=1)
"""The longest time from the death of a thread to the loss of its broker in which the two may be connected.

It counts up to the first moment at which the broker may have been lost.
"""

_STARTS = (BrokerKind.START_FAILED, BrokerKind.REGISTRATION_REFUSED)


class Trouble(NamedTuple):
    """Lines of one kind about a broker and one of its absences.

    Attributes:
        broker: The broker.
        first: The first of the lines.
        times: The number of the lines.
    """

    broker: int
    first: BrokerLine
    times: int


def troubles_of(absences: Sequence[Absence], observed: Observed) -> list[Trouble]:
    """Return the troubles around each absence, in their order."""
    found = []
    for absence in absences:
        for kind in (BrokerKind.THREAD_DIED, *_STARTS):
            fitting = [
                line
                for line in observed.about(absence.broker, kind)
                if line.broker in (absence.broker, None) and _is_around(line, absence)
            ]
            if fitting:
                found.append(Trouble(absence.broker, fitting[0], len(fitting)))
    return found


def troubled_since(absence: Absence) -> datetime:
    """Return from when on the death of a thread of the broker may be connected with its absence."""
    begin = begin_of(absence)
    return min(earliest(absence.gone) or begin, begin) - _BEFORE


def _is_around(line: BrokerLine, absence: Absence) -> bool:
    begin, back = begin_of(absence), latest(absence.returned)
    if line.kind == BrokerKind.THREAD_DIED:
        return troubled_since(absence) <= line.time <= begin
    return begin <= line.time and (back is None or line.time <= back)
