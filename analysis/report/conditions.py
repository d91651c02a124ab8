"""The conditions as plain data for all forms of the report."""

from __future__ import annotations

from typing import Any

from barnabas.analysis.conditions.findings import Finding
from barnabas.analysis.report.incidents import line_row
from barnabas.analysis.story.certainty import Line

Row = dict[str, Any]


def condition(finding: Finding) -> Row:
    """Return a finding as a row: what is wrong, for whom it is an alarm, what to do, and its first line."""
    entry, (source, block, number) = finding.condition, finding.place
    raw = (finding.raw or "").split("\n", 1)[0]
    shown = [] if source is None else [line_row(Line(source, block or 0, number or 0, raw, finding.writer))]
    return {
        "key": entry.key,
        "alarm": entry.alarm.name.lower(),
        "broker": finding.subject,
        "since": finding.since,
        "until": finding.until,
        "text": finding.headline,
        "detail": finding.detail,
        "means": entry.means,
        "advice": entry.advice,
        "source": entry.source,
        "lines": shown,
        "more_lines": max(finding.lines - len(shown), 0),
    }
