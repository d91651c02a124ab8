"""The report as text: conditions, changes in order of time, cost, tables, and what was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, datetime, timedelta
from itertools import chain
from typing import Any

from barnabas.analysis.report.document import Document
from barnabas.analysis.report.first_sentences import happened, left, nothing
from barnabas.analysis.report.logs_read import audit, logs_read
from barnabas.analysis.report.tables import Table, tables
from barnabas.analysis.report.timeline import timeline
from barnabas.analysis.story.words import Rounding, clock, count, duration

_WIDTH = 150
_INCIDENTS = 10
_CONDITIONS = 4
"""The most conditions of each urgency in the summary."""

_ROWS = 10
_EVIDENCE = 4


def text(document: Document) -> Iterator[str]:
    """Generate the lines of the whole report."""
    yield from _section("Conditions", _conditions(document))
    yield from _section("Changes, in order of time", _changes(document))
    yield from _section("Cost", cost(document))
    yield from _section("Controllers, brokers and partitions, in order of time", timeline(document))
    for table in tables(document, _ROWS):
        yield from _section(table.title, _rows(table, document.day))
    yield from _section("Safety audit", _audit(document))
    yield from _section("What was read", logs_read(document))


def summary(document: Document) -> Iterator[str]:
    """Generate the sentences that stand for the whole report."""
    first, then = _alarms(document)
    return chain(
        first, happened(document), then, cost(document), logs_read(document),
        (f"Safety audit: {line}" for line in audit(document)),
    )  # fmt: skip


def _alarms(document: Document) -> tuple[list[str], list[str]]:
    """Return the sentences about conditions that come before those about incidents, and after them.

    Those for which nobody must act are in the report alone.
    """
    now = [f"{row['text']} {row['detail']}" for row in document.conditions if row["alarm"] == "now"]
    soon = [row["text"] for row in document.conditions if row["alarm"] == "soon"]
    return _at_most(now, "condition", "now"), _at_most(soon, "condition", "soon")


def _at_most(sentences: list[str], noun: str, when: str) -> list[str]:
    rest = len(sentences) - _CONDITIONS
    more = f"{count(rest, f'more {noun}')} that need{'s' if rest == 1 else ''} action {when} in the report."
    return [*sentences[:_CONDITIONS], *([more] if rest > 0 else [])]


def cost(document: Document) -> Iterator[str]:
    """Generate the sentences about the cost of all incidents together."""
    costs = [cost for incident in document.incidents for cost in incident["costs"]]
    if costs:
        names = {name for cost in costs for name in cost["partitions"]}
        proven = max(
            each["duration_ms"].get("value", each["duration_ms"].get("at_least")) or 0 for each in costs
        )
        longest = f", the longest for at least {_span(proven, Rounding.DOWN)}" if proven else ""
        yield f"{count(len(names), 'partition')} had no leader{longest}."
    if unclean := sum(len(incident["unclean_elections"]) for incident in document.incidents):
        was = "was" if unclean == 1 else "were"
        yield f"{count(unclean, 'leader')} not in sync {was} elected: records may be lost."


def _conditions(document: Document) -> Iterator[str]:
    for row in document.conditions:
        yield f"{row['alarm']}: {row['text']}"
        yield f"  {row['detail']}"
        yield f"  {row['means']} {row['advice']} ({row['source']})"
        yield from _evidence(row["lines"])


def _changes(document: Document) -> Iterator[str]:
    if not (document.incidents or document.conditions):
        yield nothing(document)
    worst = document.incidents[:_INCIDENTS]
    for incident in sorted(worst, key=lambda each: each["since"]):
        yield f"{incident['severity']}: {incident['text']}"
        yield from _evidence(incident["lines"])
        for detail in incident["details"]:
            yield f"  {detail['text']}"
            yield from _evidence(detail["lines"])
    if (rest := len(document.incidents) - len(worst)) > 0:
        yield f"These are the worst; {count(rest, 'incident')} more in report.html."
    yield from left(document)


def _evidence(lines: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    return (f"    {line['place']}  {line['raw'][:_WIDTH]}" for line in lines[:_EVIDENCE])


def _audit(document: Document) -> Iterator[str]:
    yield from audit(document)
    for row in document.answers["safety_audit"][:_ROWS]:
        where = "" if row["topic"] is None else f" {row['topic']}-{row['partition']}"
        yield f"{row['check']}:{where} {row['detail']}, {'' if row['time'] is None else clock(row['time'])}"


def _rows(table: Table, day: date | None) -> Iterator[str]:
    rows = [
        [_cell(value, form, day) for value, form in zip(row, table.forms, strict=True)] for row in table.rows
    ]
    widths = [max(map(len, column)) for column in zip(table.columns, *rows, strict=True)]
    for row in (table.columns, *rows):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if table.total > len(rows):
        yield f"... and {table.total - len(rows):,} more"


def _cell(value: Any, form: str, day: date | None) -> str:
    if value is None:
        return "?"
    if isinstance(value, datetime):
        return clock(value, day)
    return _span(value) if form == "span" else str(value).split("\n", 1)[0][:_WIDTH]


def _span(milliseconds: float, rounding: Rounding = Rounding.NEAREST) -> str:
    sign = "-" if milliseconds < 0 else ""
    return sign + duration(timedelta(milliseconds=abs(milliseconds)), rounding)


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    found = list(lines)
    if found:
        yield title
        yield from (f"  {line}" for line in found)
        yield ""
