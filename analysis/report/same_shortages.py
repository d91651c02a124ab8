"""Shortages of replicas of which the incidents know which writes they refused, for a partition's answer."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from barnabas.analysis.questions.availability import UNDER_REPLICATED
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.sentences.shortages import writes
from barnabas.analysis.story.shortages import Shortage

Row = dict[str, Any]


def shortages(incidents: Iterable[Incident]) -> dict[str, list[Shortage]]:
    """Return the shortages of which it is known what they refused, by the partition that each tells of."""
    found: dict[str, list[Shortage]] = {}
    for incident in incidents:
        each = incident.shortage
        if each is not None and (
            each.minimum is not None or each.refusal is not None or each.mark is not None
        ):
            found.setdefault(each.worst, []).append(each)
    return found


def with_writes(rows: Iterable[Row], known: Mapping[str, Sequence[Shortage]]) -> list[Row]:
    """Return rows of ``write_stalls``; the column ``writes`` says what a shortage refused where it is known.

    Args:
        rows: The rows.
        known: The result of ``shortages``.
    """
    return [
        row | {"writes": writes(same)} if (same := _same(row, known)) is not None else row for row in rows
    ]


def _same(row: Row, known: Mapping[str, Sequence[Shortage]]) -> Shortage | None:
    """Return the shortage that a row is about; None unless a single one is of its time."""
    if row["what"] != UNDER_REPLICATED:
        return None
    since, until = row["since"], row["until"]
    near = [
        each
        for each in known.get(f"{row['topic']}-{row['partition']}", ())
        if until is None or each.steps[0].since <= until
        if (over := each.steps[-1].until) is None or over >= since
    ]
    is_same = len(near) == 1 and abs(near[0].steps[0].since - since) <= CLOCKS
    return near[0] if is_same else None
