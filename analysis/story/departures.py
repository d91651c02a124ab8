"""Absences that belong together, as one incident: at the same time, or one after another in order."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.brokers import TOGETHER
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Fact, Instant, earliest, latest, moment
from barnabas.analysis.story.clocks import Clocks, writers
from barnabas.analysis.story.clusters import are_of_several
from barnabas.analysis.story.costs import costs_of
from barnabas.analysis.story.incident import Incident, IncidentKind
from barnabas.analysis.story.nodes import Members
from barnabas.analysis.story.partitions import Outage

_ROLLING = timedelta(minutes=10)
"""The longest pause between two orderly stops of one rolling restart."""

_CURRENT = timedelta(hours=1)
"""The time for which a broker's absence counts as the same trouble as what happens to other brokers."""


class _Open:
    """The last incident, which absences may still join.

    Args:
        index: The index of its first absence.
        absence: Its first absence.
    """

    def __init__(self, index: int, absence: Absence) -> None:
        self.indexes: list[int] = []
        self._brokers: set[int | None] = set()
        self._last = absence
        self._until = begin_of(absence)
        self._late: list[datetime] = []
        self.add(index, absence)

    def add(self, index: int, absence: Absence) -> None:
        """Add an absence."""
        begin = begin_of(absence)
        back, most = known_end(absence) or begin, begin + _CURRENT
        if back > most:
            self._late.append(back)
        self.indexes.append(index)
        self._brokers |= _brokers_of(absence)
        self._last = absence
        self._until = max(self._until, min(back, most))

    def takes(self, absence: Absence, clocks: Clocks, clusters: Mapping[str, str]) -> bool:
        """Return whether an absence that began after all these is part of the incident."""
        if are_of_several(clusters, self._last.lines, absence.lines):
            return False
        if self._last.broker == absence.broker or not clocks.agree({*self._brokers, *_brokers_of(absence)}):
            return False
        is_rolling = self._last.cause in ORDERLY and absence.cause in ORDERLY
        begin, pause = begin_of(absence), _ROLLING if is_rolling else TOGETHER
        return begin <= self._until + pause or any(back <= begin <= back + pause for back in self._late)


def _brokers_of(absence: Absence) -> set[int | None]:
    """Return the brokers by whose clocks an absence has its times; who noticed it counts if that is all."""
    is_by_notice = latest(absence.gone) is None
    return {absence.broker, *writers((*absence.gone.lines, *(absence.noticed.lines if is_by_notice else ())))}


def groups_of(found: Sequence[Absence], clocks: Clocks, clusters: Mapping[str, str]) -> list[list[int]]:
    """Return the indexes of the absences that belong together, in their order.

    An absence belongs to an incident in the first hour of another one of it, or shortly after that one's end.
    By clocks that differ nobody knows which was first. What happens in another cluster is another incident.

    Args:
        found: The absences, by the latest time at which each began.
        clocks: The clocks that differ.
        clusters: The ids of clusters by the folders of their logs.
    """
    groups: list[_Open] = []
    for index, absence in enumerate(found):
        if groups and groups[-1].takes(absence, clocks, clusters):
            groups[-1].add(index, absence)
        else:
            groups.append(_Open(index, absence))
    return [group.indexes for group in groups]


def parted(group: Sequence[int], found: Sequence[Absence], known: Members) -> list[Sequence[int]]:
    """Part a group in which all brokers were gone, or given up, from what was over before that began."""
    members = [found[index] for index in group]
    moment = all_gone(members, or_given_up=True)
    if moment is None or not _are_all(members, known):
        return [group]
    first = min(begin_of(found[index]) for index in group if is_gone(found[index], moment))
    over = [index for index in group if (back := latest(found[index].returned)) is not None and back < first]
    rest = [index for index in group if index not in over]
    return [over, rest] if over and rest else [group]


def departure(
    group: Sequence[int], found: Sequence[Absence], charged: Mapping[int, Sequence[Outage]], known: Members
) -> Incident:
    """Return the incident of absences that belong together, with the outages that are charged to them.

    Args:
        group: The indexes of the absences in ``found``.
        found: All absences.
        charged: The outages by the index of the absence.
        known: The members of the cluster.
    """
    members = tuple(found[index] for index in group)
    outages = (outage for index in group for outage in charged.get(index, ()))
    costs = costs_of((outage.leader_before, outage) for outage in outages)
    ends = [latest(each.returned) for each in members]
    dated = [end for end in ends if end is not None]
    kind, since = _kind(members, known), min(begin_of(each) for each in members)
    return Incident(
        kind=kind,
        since=since,
        until=max(dated) if len(dated) == len(ends) else None,
        absences=members,
        all_gone=all_gone(members) if kind is IncidentKind.WHOLE_CLUSTER else None,
        # An older list may lack brokers that came later.
        are_listed=known.are_listed(since - _CURRENT, max(dated, default=since) + _CURRENT),
        costs=costs,
    )


def _are_all(members: Sequence[Absence], known: Members) -> bool:
    is_known = bool(known.listed) or len(known.brokers) > 1
    return is_known and {each.broker for each in members} >= known.brokers


def _kind(members: Sequence[Absence], known: Members) -> IncidentKind:
    if _are_all(members, known) and all_gone(members) is not None:
        return IncidentKind.WHOLE_CLUSTER
    if len({each.broker for each in members}) == 1:
        return IncidentKind.DEPARTURE
    if all(each.cause in ORDERLY for each in members) and _are_apart(members):
        return IncidentKind.ROLLING_RESTART
    return IncidentKind.SEVERAL


def _are_apart(members: Sequence[Absence]) -> bool:
    """Return whether the lines prove that each broker left only after the one before had returned."""
    by_time = sorted(members, key=begin_of)
    return (
        all(
            (back := latest(before.returned)) is not None
            and (left := after.stopping or earliest(after.gone)) is not None
            and back <= left
            for before, after in pairwise(by_time)
        )
        and latest(by_time[-1].returned) is not None
    )


def all_gone(
    members: Collection[Absence], *, by_silence: bool = True, or_given_up: bool = False
) -> datetime | None:
    """Return the first moment at which the lines show that all were gone; None if they show none.

    Args:
        members: The absences.
        by_silence: Whether a broker of which no line shows a return stays gone.
        or_given_up: Whether a broker is gone that only lost its session. It serves on: so do all if
            ZooKeeper is gone. One that was fenced may do so, too.
    """
    brokers = {each.broker for each in members}
    here = [Cause.UNREGISTERED, *(() if or_given_up else (Cause.LOST_SESSION,))]
    down = [each for each in members if each.cause not in here]
    gone = (
        time for time in sorted(begin_of(each) for each in down)
        if brokers == {each.broker for each in down if is_gone(each, time, by_silence=by_silence)}
    )  # fmt: skip
    return next(gone, None)


def is_gone(absence: Absence, time: datetime, *, by_silence: bool = True) -> bool:
    """Return whether the lines show that a broker was gone at a moment.

    Of one that was lost or stopped no line shows when it had ended, nor perhaps of one that began to stop.

    Without a line about a return it stays gone, as far as the lines show, if its end is certain, or a
    controller took it for gone. ``by_silence`` says whether that counts: the lines of its next process may be
    elsewhere.
    """
    is_open = absence.cause in ORDERLY and latest(absence.gone) is None
    if absence.cause is Cause.LOST_OR_STOPPED or is_open:
        return False
    begin, back = begin_of(absence), earliest(absence.returned)
    has_returned = latest(absence.returned) is not None
    is_certain = isinstance(absence.gone, Fact) or latest(absence.noticed) is not None
    stays = by_silence and not has_returned and is_certain
    return begin <= time and (time <= back if back is not None else stays or time == begin)


def first_departure(members: Sequence[Absence]) -> Instant:
    """Return when the first of several brokers left, whichever it was."""
    lows = [earliest(each.gone) for each in members]
    low = min((each for each in lows if each is not None), default=None)
    highs = [
        latest(each.gone)
        or (None if each.cause is Cause.LOST_OR_STOPPED else latest(each.noticed))
        or each.started
        for each in members
    ]
    high = min((each for each in highs if each is not None), default=None)
    lines = tuple(line for each in members for line in each.gone.lines)
    return moment(None if None in lows else low, high, lines, "no line bounds it")


def are_overlapping(members: Sequence[Absence], *, by_silence: bool = True) -> bool:
    """Return whether the lines show that each broker left while one that had left before was still gone.

    Args:
        members: The absences.
        by_silence: Whether a broker of which no line shows a return stays gone.
    """
    return all(
        any(is_gone(other, begin_of(each), by_silence=by_silence) for other in members[:index])
        for index, each in enumerate(members)
        if index
    )
