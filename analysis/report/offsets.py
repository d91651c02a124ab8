"""The order of what a metadata log shows whose next controller's clock is behind."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.record_times import Tenure, tenures_of

Row = Mapping[str, Any]


_MILLISECOND = timedelta(milliseconds=1)


def of_epoch(row: Row) -> str:
    """Return the key of a controller epoch, as the other functions do for other lines of the timeline."""
    return f"controller epoch {row['controller_epoch']}"


def of_leader(row: Row) -> str:
    """Return the key of a leader in a leader epoch."""
    return f"leader {row['topic']}-{row['partition']} {row['life']} {row['leader_epoch']}"


def of_isr(row: Row) -> str:
    """Return the key of an ISR."""
    return f"ISR {row['topic']}-{row['partition']} {row['life']} {row['leader_epoch']} {row['version']}"


def of_absence(incident: int, absence: int, name: str) -> str:
    """Return the key of a moment (``name``) of an absence, by the places of both in the report."""
    return f"incident {incident} absence {absence} {name}"


def behind(seen: Observed, incidents: Sequence[Incident]) -> dict[str, float]:
    """Return how far the clocks are behind, at least, by which lines of the timeline have their times, in ms.

    Args:
        seen: The input of the story.
        incidents: The incidents, in the order of the report.

    Returns:
        Nothing unless the order of records contradicts their times.
    """
    tenures = tenures_of(seen)
    if not tenures:
        return {}
    starts = [each.number for each in tenures]
    found = {
        of_epoch({"controller_epoch": each.epoch}): _of(each.lines, tenures, starts)
        for each in seen.controllers
    }
    for state in sorted(seen.states, key=lambda each: each.line.number, reverse=True):
        later = _of((state.line,), tenures, starts)
        row = state._asdict()
        found[of_leader(row)] = found[of_isr(row)] = later
    for number, incident in enumerate(incidents):
        for place, absence in enumerate(incident.absences):
            gone = absence.gone.lines or absence.noticed.lines
            found[of_absence(number, place, "gone")] = _of(gone, tenures, starts)
            found[of_absence(number, place, "returned")] = _of(absence.returned.lines, tenures, starts)
    return {key: later for key, later in found.items() if later}


def _of(lines: Lines, tenures: Sequence[Tenure], starts: Sequence[int]) -> float:
    if not lines:
        return 0.0
    return tenures[max(bisect_right(starts, max(line.number for line in lines)) - 1, 0)].behind / _MILLISECOND
