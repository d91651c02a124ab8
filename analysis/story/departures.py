"""Absences that belong together, as one incident: at the same time, or one after another in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise

from barnabas.analysis.story.brokers import Absence, begin_of
from barnabas.analysis.story.causes import ORDERLY
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.costs import costs_of
from barnabas.analysis.story.incident import TOGETHER, Incident, IncidentKind
from barnabas.analysis.story.nodes import Members
from barnabas.analysis.story.partitions import Outage

_ROLLING = timedelta(minutes=10)
"""The longest pause between two orderly stops of one rolling restart."""


def groups_of(found: Sequence[Absence]) -> list[list[int]]:
    """Return the indexes of the absences that belong together, in their order."""
    groups: list[list[int]] = []
    end: datetime | None = None
    for index, absence in enumerate(found):
        begin = begin_of(absence)
        last = found[groups[-1][-1]] if groups else None
        is_rolling = (
            last is not None and last.cause in ORDERLY and absence.cause in ORDERLY
            and last.broker != absence.broker and end is not None and begin <= end + _ROLLING
        )  # fmt: skip
        is_same = last is not None and last.broker == absence.broker
        if groups and end is not None and (is_rolling or (begin <= end + TOGETHER and not is_same)):
            groups[-1].append(index)
            end = max(end, latest(absence.returned) or begin)
        else:
            groups.append([index])
            end = latest(absence.returned) or begin
    return groups


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
    outages = [(found[index].broker, outage) for index in group for outage in charged.get(index, ())]
    costs = costs_of(outages)
    ends = [latest(each.returned) for each in members]
    dated = [end for end in ends if end is not None]
    return Incident(
        kind=_kind(members, known),
        since=min(begin_of(each) for each in members),
        until=max(dated) if len(dated) == len(ends) else None,
        absences=members,
        costs=costs,
    )


def _kind(members: Sequence[Absence], known: Members) -> IncidentKind:
    brokers = {each.broker for each in members}
    is_all = len(brokers) > 1 or known.are_listed
    if is_all and brokers >= known.brokers and _all_at_once(members, known.brokers):
        return IncidentKind.WHOLE_CLUSTER
    if len(brokers) == 1:
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


def _all_at_once(members: Sequence[Absence], brokers: frozenset[int]) -> bool:
    """Return whether at some moment every broker was gone."""
    times = [begin_of(each) for each in members]
    return any(brokers <= {each.broker for each in members if is_gone(each, time)} for time in times)


def is_gone(absence: Absence, time: datetime) -> bool:
    """Return whether the lines prove that a broker was gone at a moment."""
    begin, back = begin_of(absence), earliest(absence.returned)
    has_returned = latest(absence.returned) is not None
    return begin <= time and (time <= back if back is not None else not has_returned or time == begin)


def are_overlapping(members: Sequence[Absence]) -> bool:
    """Return whether the lines prove that each broker left while one that had left before was still gone."""
    return all(
        any(is_gone(other, begin_of(each)) for other in members[:index])
        for index, each in enumerate(members)
        if index
    )
