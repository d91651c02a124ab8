"""Answers about brokers and partitions that take from the incidents what these prove.

The tables know little more than the lines of controllers, and a broker of KRaft logs what it reads much
later. The incidents take all lines into account, so an answer from the tables alone would say something else
of the same event.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from math import ceil
from typing import Any

from barnabas.analysis.derived.unavailability import BOTH_OFFLINE, LEADER_OFFLINE, NOTIFIED_ONLY
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.costs import Cost, Ending, Period, greatest, least
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.observed import CLOCKS

Row = dict[str, Any]

NOT_SHOWN = "no line shows why"
"""The cause of a time without a leader that no departure explains."""

FAILED_DIRECTORY = "a log directory of its leader had failed"
BOUNCED = "a new controller found its leader registered again"
REFUSED = "its leader refused to lead"
STAYED = (NOT_SHOWN, FAILED_DIRECTORY, REFUSED, BOUNCED)
"""The causes of times without a leader whose leader's broker did not leave."""

_MILLISECOND = timedelta(milliseconds=1)


def without_leader(rows: Sequence[Row], incidents: Sequence[Incident]) -> list[Row]:
    """Return the answer ``partitions_without_leader``, with what the incidents prove of their partitions.

    Args:
        rows: The answer of the tables. Of partitions that no incident names it remains.
        incidents: All incidents.

    Returns:
        The rows with the same columns. ``total_ms`` and ``longest_ms`` are what is proven, 0 if nothing is;
        ``at_most_ms`` is null if nothing bounds it.
    """
    known = {f"{row['topic']}-{row['partition']}": row for row in rows}
    outages: dict[str, list[tuple[Incident, Cost, Period]]] = {}
    for incident in incidents:
        for cost in incident.costs:
            for period in cost.each:
                outages.setdefault(period.name, []).append((incident, cost, period))
    found = [row for name, row in known.items() if name not in outages]
    found.extend(_of_partition(name, each, known.get(name)) for name, each in outages.items())
    return sorted(found, key=_longest_first)


def _of_partition(
    name: str,
    outages: Sequence[tuple[Incident, Cost, Period]],
    known: Mapping[str, Any] | None,
) -> Row:
    topic, _, partition = name.rpartition("-")
    proven = [least(each.duration) / _MILLISECOND for _, _, each in outages]
    most = [greatest(each.duration) for _, _, each in outages]
    bounds = [each / _MILLISECOND for each in most if each is not None]
    begins = [each.begin for _, _, each in outages if each.begin is not None]
    return {
        "topic": topic,
        "partition": int(partition),
        "outages": len(outages),
        "lasting": any(cost.ending in (Ending.NOT_SHOWN, Ending.LASTING) for _, cost, _ in outages),
        "total_ms": int(sum(proven)),
        "at_most_ms": ceil(sum(bounds)) if len(bounds) == len(outages) else None,
        "longest_ms": int(max(proven)),
        "first": min(begins, default=None if known is None else known["first"]),
        "cause": cause(
            NOTIFIED_ONLY if known is None else known["cause"], [incident for incident, _, _ in outages]
        ),
    }


def cause(said: str, incidents: Iterable[Incident]) -> str:
    """Return why a partition had no leader: a leader went offline only if an incident has a departure.

    Args:
        said: The cause by the tables, for which any leader that a controller replaces went offline.
        incidents: The incidents of its times without a leader.
    """
    if said not in (LEADER_OFFLINE, BOTH_OFFLINE, NOTIFIED_ONLY):
        return said
    known = list(incidents)
    if any(each.absences for each in known):
        return LEADER_OFFLINE if said == NOTIFIED_ONLY else said
    if any(each.failures for each in known):
        return FAILED_DIRECTORY
    if any(each.refusals for each in known):
        return REFUSED
    return BOUNCED if any(each.bounces for each in known) else NOT_SHOWN


def _longest_first(row: Row) -> tuple[bool, int, float, str, int]:
    at_most = row["at_most_ms"]
    return (
        not row["lasting"],
        -row["total_ms"],
        0 if at_most is None else -at_most,
        row["topic"],
        row["partition"],
    )


def departures(rows: Sequence[Row], incidents: Sequence[Incident]) -> list[Row]:
    """Return the answer ``departures``: a row for each departure of the incidents, by time.

    Args:
        rows: The answer of the tables, which has the controller's epoch and the number of partitions.
        incidents: All incidents.

    Returns:
        The rows with the same columns. ``since`` is when a controller noticed it, or else when the broker was
        gone at the latest; ``last_logged`` is the time of its last line before it left, or else until when it
        surely had not left; ``back`` is null if no line shows the return.
        ``controller_epoch`` and ``partitions`` are null if no controller's line shows it.
    """
    return sorted(
        (_departure(absence, rows) for incident in incidents for absence in incident.absences),
        key=lambda row: (row["since"], row["broker"]),
    )


def _departure(absence: Absence, rows: Iterable[Row]) -> Row:
    begin, back = begin_of(absence), latest(absence.returned)
    same = next(
        (
            row
            for row in rows
            if row["broker"] == absence.broker
            and begin - CLOCKS <= row["since"]
            and (back is None or row["since"] <= back)
        ),
        None,
    )
    there = earliest(absence.gone)
    # Another broker's line about a lost contact may show it alive after its last line.
    spoke = None if same is None or there is None else same["last_logged"]
    return {
        "broker": absence.broker,
        "since": latest(absence.noticed) or latest(absence.gone) or begin,
        "last_logged": spoke if spoke is not None and there is not None and spoke < there else there,
        "back": back,
        "controller_epoch": None if same is None else same["controller_epoch"],
        "partitions": None if same is None else same["partitions"],
    }
