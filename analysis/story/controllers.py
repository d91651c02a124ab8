"""Changes of the controller, and times in which no line shows an active one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine, Controller
from barnabas.analysis.story.runs import STARTS

_ELECTION = timedelta(seconds=5)
"""The longest time without an active controller that counts as a plain election of KRaft."""

_RESTARTED = timedelta(minutes=2)
"""The longest time from a resignation to a start that may have to do with it."""

_STARTS = (*STARTS, BrokerKind.CONTROLLER_STARTING)

_ACTIVE = (BrokerKind.CONTROLLER_ACTIVE, BrokerKind.CONTROLLER_KNOWN)

_AT_WORK = (
    BrokerKind.BROKER_FENCED,
    BrokerKind.BROKER_UNFENCED,
    BrokerKind.BROKER_REGISTERED,
    BrokerKind.BROKER_UNREGISTERED,
    BrokerKind.BROKER_STOP_ASKED,
    BrokerKind.BROKER_STOP_GRANTED,
)
"""The acts that only an active controller does, and logs; a voter that replays them has other lines."""


class ControllerChange(NamedTuple):
    """Another controller than before.

    Attributes:
        new: The controller that took over.
        former: The last controller known before.
        unseen: The number of controller epochs between the two, of which no line names a controller. A KRaft
            election without a winner raises the epoch, too.
        resigned: The former controller's own line that it resigned; None if no line shows that.
        restarted: The first line of its next process, soon after that; None if none shows one.
    """

    new: Controller
    former: int
    unseen: int = 0
    resigned: BrokerLine | None = None
    restarted: BrokerLine | None = None


class Vacancy(NamedTuple):
    """A time in which no line shows an active controller of KRaft, though lines say that there was none.

    Attributes:
        since: The line by which the controller had lost the majority of the voters.
        until: The next line about an active controller; None if there is none.
        lost_majority: The controller that had lost it.
        lines: The lines that show it.
    """

    since: datetime
    until: datetime | None
    lost_majority: int | None
    lines: Lines


def changes_of(observed: Observed) -> Iterator[tuple[Controller, ControllerChange]]:
    """Yield each change of the controller, after the former one's tenure."""
    epochs = sorted(each.epoch for each in observed.controllers)
    for before, after in successions(observed.controllers):
        if before.broker == after.broker:
            continue
        resigned = _resigned(before, after, observed)
        restarted = None if resigned is None else _restarted(before, resigned, observed)
        own = tuple(each.line for each in (resigned, restarted) if each is not None)
        new = after._replace(lines=(*after.lines, *own, *before.lines))
        is_next = bisect_right(epochs, before.epoch) == bisect_left(epochs, after.epoch)
        unseen = after.epoch - before.epoch - 1 if is_next else 0
        yield before, ControllerChange(new, before.broker, unseen, resigned, restarted)


def successions(controllers: Iterable[Controller]) -> Iterator[tuple[Controller, Controller]]:
    """Yield each controller, by time, after the one before it in the same count of controller epochs.

    Controllers of ZooKeeper and of KRaft count each for themselves, and during a migration (KIP-866) both
    are there. So do clusters of which no line tells them apart.
    """
    lasts: list[Controller] = []
    for controller in controllers:
        lower = [index for index, last in enumerate(lasts) if last.epoch < controller.epoch]
        if not lower:
            lasts.append(controller)
            continue
        nearest = max(lower, key=lambda index: (lasts[index].epoch, lasts[index].since))
        yield lasts[nearest], controller
        lasts[nearest] = controller


def _resigned(before: Controller, after: Controller, observed: Observed) -> BrokerLine | None:
    kind = BrokerKind.CONTROLLER_RESIGNED
    own = observed.about_within(before.broker, kind, before.since, after.since)
    return max(own, key=lambda line: line.time, default=None)


def _restarted(before: Controller, resigned: BrokerLine, observed: Observed) -> BrokerLine | None:
    since, until = resigned.time, resigned.time + _RESTARTED
    lines = (line for kind in _STARTS for line in observed.about_within(before.broker, kind, since, until))
    return min(lines, key=lambda line: line.time, default=None)


def vacancies(lines: Iterable[BrokerLine]) -> Iterator[Vacancy]:
    """Yield the times longer than an election in which a controller of KRaft had lost the majority.

    Only its own line proves that there was none: a voter that is cut off, or starts, knows of none although
    there is one.

    Args:
        lines: The lines about brokers.
    """
    kinds = (BrokerKind.NO_CONTROLLER, *_ACTIVE, *_AT_WORK)
    own = sorted((each for each in lines if each.kind in kinds), key=lambda each: (each.time, each.line))
    lost: BrokerLine | None = None
    for line in own:
        if line.kind == BrokerKind.NO_CONTROLLER:
            # Only the line about a lost majority lacks the epoch; the controller itself writes it.
            lost = line if line.controller_epoch is None and lost is None else lost
        elif lost is not None:
            if line.time - lost.time > _ELECTION:
                yield Vacancy(lost.time, line.time, lost.broker, (lost.line, line.line))
            lost = None
    if lost is not None:
        yield Vacancy(lost.time, None, lost.broker, (lost.line,))
