"""Returns of brokers that only what they did afterwards shows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import Lines, earliest, latest, moment
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Outage


def with_proven_returns(
    found: Sequence[Absence], charged: Mapping[int, Sequence[Outage]], observed: Observed
) -> list[Absence]:
    """Bound the returns of which no line says so: a broker that leads again is back.

    So is one that ZooKeeper elected controller; that of KRaft may be fenced as a broker.

    Args:
        found: The absences.
        charged: The times without a leader by the index of the absence.
        observed: Everything in the lines.
    """
    begins: dict[int, list[datetime]] = {}
    for each in found:
        begins.setdefault(each.broker, []).append(begin_of(each))
    elected: dict[int, list[tuple[datetime, Lines]]] = {}
    for own in () if observed.is_kraft else observed.controllers:
        elected.setdefault(own.broker, []).append((own.since, own.lines))
    return [
        absence
        if latest(absence.returned) is not None
        else _bounded(
            absence, charged.get(index, ()), elected.get(absence.broker, ()), begins[absence.broker]
        )
        for index, absence in enumerate(found)
    ]


def _bounded(
    absence: Absence,
    outages: Sequence[Outage],
    elected: Sequence[tuple[datetime, Lines]],
    begins: Sequence[datetime],
) -> Absence:
    """Bound the return of a broker by the first of its acts before its next absence.

    Args:
        absence: The absence.
        outages: The times without a leader because of it.
        elected: The elections of the broker as the controller.
        begins: When the absences of the broker began.
    """
    begin = begin_of(absence)
    gone = max(begin, latest(absence.noticed) or begin)
    shown = [
        (led, outage.end.lines)
        for outage in outages
        if outage.leader_after == absence.broker and (led := latest(outage.end)) is not None and led > gone
    ]
    if latest(absence.gone) is not None:
        shown.extend(each for each in elected if each[0] > gone + CLOCKS)
    until = min((each for each in begins if each > begin), default=None)
    first = min((each for each in shown if until is None or each[0] < until), default=None)
    if first is None:
        return absence
    back, lines = first
    return replace(
        absence, returned=moment(earliest(absence.returned), back, (*absence.returned.lines, *lines), "")
    )
