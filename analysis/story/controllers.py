"""Changes of the controller, and times in which no line shows an active one."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.active_controllers import CONTROLLER_STARTS
from barnabas.analysis.story.certainty import Lines, earliest, latest
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine, Controller

_ELECTION = timedelta(seconds=5)
"""The longest time without an active controller that counts as a plain election of KRaft."""

_LISTED = timedelta(seconds=30)
"""The longest time from a controller's election to its first list of the brokers that are registered."""

_RESTARTED = timedelta(minutes=2)
"""The longest time from a resignation to a start that may have to do with it."""

_ACTIVE = (BrokerKind.CONTROLLER_ACTIVE, BrokerKind.CONTROLLER_KNOWN)

AT_WORK = (
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
        since: The first line which says that there is none.
        until: The next line about an active controller; None if there is none.
        lost_majority: The controller that had lost the majority of the voters; None if no line says so.
        lines: The lines that show it.
        known_to: The voters that knew of none, if no line shows that there was none; empty if one does.
    """

    since: datetime
    until: datetime | None
    lost_majority: int | None
    lines: Lines
    known_to: tuple[int, ...] = ()


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


def with_unlisted(observed: Observed, found: Iterable[Absence]) -> tuple[Observed, frozenset[int]]:
    """Let the first list of each controller say that the one before is gone, if nothing else shows that.

    A broker is registered while it is the controller, so one that the next controller does not find is lost.

    Args:
        observed: Everything in the lines.
        found: The absences that the lines show otherwise.

    Returns:
        Everything in the lines, and the brokers that lists say to be gone.
    """
    lists: dict[int | None, list[BrokerLine]] = {}
    for line in observed.brokers:
        if line.kind == BrokerKind.BROKERS_CHANGED and line.live:
            lists.setdefault(line.broker, []).append(line)
    if not lists:
        return observed, frozenset()
    gone: dict[int, list[Absence]] = {}
    for each in found:
        gone.setdefault(each.broker, []).append(each)
    named: dict[BrokerLine, BrokerLine] = {}
    unlisted: set[int] = set()
    for before, change in changes_of(observed):
        own = (line for line in lists.get(change.new.broker, ()) if line.time >= change.new.since)
        first = min(own, key=lambda line: line.time, default=None)
        if first is None or change.unseen or first.time > change.new.since + _LISTED:
            continue
        is_known = any(_may_cover(each, before.since, first.time) for each in gone.get(before.broker, ()))
        if before.broker not in first.live and not is_known:
            named[first] = first._replace(lost=(*first.lost, before.broker))
            unlisted.add(before.broker)
    if not named:
        return observed, frozenset()
    lines = [named.get(line, line) for line in observed.brokers]
    return replace(observed, brokers=lines), frozenset(unlisted)


def _may_cover(absence: Absence, since: datetime, time: datetime) -> bool:
    """Return whether a controller of a tenure from ``since`` on may have been absent at a moment."""
    begin, back = begin_of(absence), latest(absence.returned)
    return since <= begin <= time + CONTACT_WINDOW and (back is None or back >= time - CONTACT_WINDOW)


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
    lines = (
        line
        for kind in CONTROLLER_STARTS
        for line in observed.about_within(before.broker, kind, since, until)
    )
    return min(lines, key=lambda line: line.time, default=None)


class _Doubts:
    """The lines since an active controller was last shown which say that there is none.

    Args:
        known: The controller shown last; None if no line names it.
        at: The time of that line.
        has_been: Whether any line has shown a controller.
    """

    def __init__(self, known: int | None, at: datetime, *, has_been: bool = True) -> None:
        self.known, self.at, self.has_been = known, at, has_been
        self.first: dict[int | None, BrokerLine] = {}
        self.ceased: BrokerLine | None = None
        self.lost: BrokerLine | None = None
        self.is_refuted = False

    def add(self, line: BrokerLine) -> None:
        """Take a line that there is no controller, or that one resigned."""
        if line.kind == BrokerKind.NO_CONTROLLER:
            self.first.setdefault(line.broker, line)
            if line.controller_epoch is None:
                # Only the line about a lost majority lacks the epoch; the controller itself writes it.
                self.lost = line
        is_own = line.broker == self.known or line.kind == BrokerKind.CONTROLLER_RESIGNED
        if is_own or line.controller_epoch is None:
            self.ceased = self.ceased or line

    def vacancy(self, last: BrokerLine | None, absences: Iterable[Absence]) -> Vacancy | None:
        """Return the time without a controller until the line ``last``; None if that is not proven."""
        firsts = sorted(self.first.values(), key=lambda each: each.time)
        if not firsts or (last is None and self.lost is None):
            return None
        nodes: tuple[int, ...] = ()
        if self.ceased is not None:
            begin = max(firsts[0], self.ceased, key=lambda each: each.time)
        elif self._is_gone(firsts[0], last, absences):
            begin = firsts[0]
        else:
            own = [each for each in firsts if last is not None and last.time - each.time > _ELECTION]
            if self.is_refuted or not own:
                return None
            begin = own[-1]
            nodes = tuple(sorted(each.broker for each in own if each.broker is not None))
        if last is not None and last.time - begin.time <= _ELECTION:
            return None
        found = (each.line for each in (begin, self.lost, last) if each is not None)
        return Vacancy(
            begin.time,
            None if last is None else last.time,
            None if self.lost is None else self.lost.broker,
            tuple(dict.fromkeys(found)),
            nodes,
        )

    def _is_gone(self, first: BrokerLine, last: BrokerLine | None, absences: Iterable[Absence]) -> bool:
        """Return whether the controller known last was absent, so that it was none any more."""
        return any(
            each.broker == self.known
            and begin_of(each) >= self.at
            and (last is None or (earliest(each.gone) or begin_of(each) - CONTACT_WINDOW) <= last.time)
            and ((back := latest(each.returned)) is None or back >= first.time)
            for each in absences
        )


def vacancies(lines: Sequence[BrokerLine], absences: Sequence[Absence] = ()) -> Iterator[Vacancy]:
    """Yield the times longer than an election in which KRaft's voters had no leader, by their own lines.

    A voter that is cut off, or starts, knows of none although there is one, and a network that is divided has
    one on the side of the majority. So there was none only if the controller known last had ceased: its own
    line says so, or it was absent. Otherwise it is only what voters knew, and nothing if another line shows
    a controller at work meanwhile.

    Args:
        lines: The lines about brokers.
        absences: The absences of brokers and controllers.
    """
    doubts = _Doubts(None, datetime.min, has_been=False)  # noqa: DTZ901
    kinds = (BrokerKind.NO_CONTROLLER, BrokerKind.CONTROLLER_RESIGNED, *_ACTIVE, *AT_WORK)
    own = (each for each in lines if each.kind in kinds)
    for line in sorted(own, key=lambda each: (each.time, each.line)):
        if line.kind in _ACTIVE:
            if (found := doubts.vacancy(line, absences)) is not None:
                yield found
            doubts = _Doubts(line.subject, line.time)
        elif line.kind in AT_WORK:
            if doubts.ceased is None:
                doubts.is_refuted = bool(doubts.first)
            else:
                if (found := doubts.vacancy(line, absences)) is not None:
                    yield found
                at_work = doubts.known if line.broker is None else line.broker
                doubts = _Doubts(at_work, line.time)
        elif doubts.has_been:
            doubts.add(line)
    if (found := doubts.vacancy(None, absences)) is not None:
        yield found
