"""Changes of the controller, and times in which no line shows an active one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.observed import BrokerLine, Controller, Observed

_ELECTION = timedelta(seconds=5)
"""The longest time without an active controller that counts as a plain election of KRaft."""

_ACTIVE = (BrokerKind.CONTROLLER_ACTIVE, BrokerKind.CONTROLLER_KNOWN)


class ControllerChange(NamedTuple):
    """Another controller than before.

    Attributes:
        new: The controller that took over.
        former: The last controller known before.
        unseen: The number of controller epochs between the two, of which no line names a controller. A KRaft
            election without a winner raises the epoch, too.
        resigned: The former controller's own line that it resigned; None if no line shows that.
    """

    new: Controller
    former: int
    unseen: int = 0
    resigned: BrokerLine | None = None


class Vacancy(NamedTuple):
    """A time in which no line shows an active controller of KRaft, though lines show that there was none.

    Attributes:
        since: The first line which says that there is none.
        until: The next line about an active controller; None if there is none.
        lost_majority: The controller that had lost the majority of the voters; None if no line says so.
        lines: The lines that show it.
    """

    since: datetime
    until: datetime | None
    lost_majority: int | None
    lines: Lines


def changes_of(observed: Observed) -> Iterator[tuple[Controller, ControllerChange]]:
    """Yield each change of the controller, after the former one's tenure."""
    for before, after in pairwise(observed.controllers):
        if before.broker == after.broker or after.epoch <= before.epoch:
            continue
        resigned = _resigned(before, after, observed)
        own = () if resigned is None else (resigned.line,)
        new = after._replace(lines=(*after.lines, *own, *before.lines))
        yield before, ControllerChange(new, before.broker, after.epoch - before.epoch - 1, resigned)


def _resigned(before: Controller, after: Controller, observed: Observed) -> BrokerLine | None:
    kind = BrokerKind.CONTROLLER_RESIGNED
    own = observed.about_within(before.broker, kind, before.since, after.since)
    return max(own, key=lambda line: line.time, default=None)


def vacancies(lines: Sequence[BrokerLine]) -> Iterator[Vacancy]:
    """Yield the times longer than an election in which KRaft's voters had no leader, by their own lines."""
    first: BrokerLine | None = None
    lost: BrokerLine | None = None
    has_been = False
    own = (each for each in lines if each.kind in (BrokerKind.NO_CONTROLLER, *_ACTIVE))
    for line in sorted(own, key=lambda each: (each.time, each.line)):
        if line.kind == BrokerKind.NO_CONTROLLER and has_been:
            first = first or line
            # The line about a lost majority is the one without an epoch: it is not about an election.
            lost = line if line.controller_epoch is None else lost
        elif line.kind in _ACTIVE:
            has_been = True
            if first is not None and line.time - first.time > _ELECTION:
                yield _vacancy(first, lost, line)
            first = lost = None
    if lost is not None and first is not None:
        yield _vacancy(first, lost, None)


def _vacancy(first: BrokerLine, lost: BrokerLine | None, last: BrokerLine | None) -> Vacancy:
    found = (each.line for each in (first, lost, last) if each is not None)
    return Vacancy(
        first.time,
        None if last is None else last.time,
        None if lost is None else lost.broker,
        tuple(dict.fromkeys(found)),
    )
