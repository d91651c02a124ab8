"""Brokers of which all that is known is that a controller took their replicas offline."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace

from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Line, earliest, moment
from barnabas.analysis.story.incident import TOGETHER, Incident, IncidentKind


def is_only_unled(absence: Absence, late: AbstractSet[Line]) -> bool:
    """Return whether all that shows an absence is that partitions of the broker had no leader.

    A broker that stops gives its leaders up before it ends, so these lines do not bound its end from above.

    Args:
        absence: The absence.
        late: The lines by which brokers, and no controller, show partitions without a leader.
    """
    if absence.cause is not Cause.UNKNOWN or absence.has_own_log or not isinstance(absence.gone, Bound):
        return False
    return all(line in late for line in absence.gone.lines)


def lost_or_stopped(absence: Absence) -> Absence:
    """Return an absence that may be a stop, of which the broker asked when its replicas went offline.

    It was lost before that, or it ended afterwards: nothing bounds its end from above.
    """
    why = "the broker was lost before its replicas were taken offline, or stopped after that"
    gone = moment(earliest(absence.gone), None, absence.gone.lines, why)
    return replace(absence, cause=Cause.LOST_OR_STOPPED, gone=gone)


def taken_offline(found: Sequence[Absence]) -> list[Incident]:
    """Return one incident for all brokers of which replicas were taken offline at the same time.

    Args:
        found: The absences that nothing else shows, by the latest time at which each began.
    """
    groups: list[list[Absence]] = []
    for each in found:
        if groups and begin_of(each) <= begin_of(groups[-1][-1]) + TOGETHER:
            groups[-1].append(each)
        else:
            groups.append([each])
    return [
        Incident(
            IncidentKind.OFFLINE_REPLICAS,
            begin_of(group[0]),
            begin_of(group[-1]),
            offline=tuple(sorted({each.broker for each in group})),
            lines=tuple(line for each in group for line in each.noticed.lines),
        )
        for group in groups
    ]
