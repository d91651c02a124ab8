"""The tables at the end of a report: their questions, titles and columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from barnabas.analysis.report.document import Document

_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "request_times": (
        "Requests of the controller",
        {
            "api": "request", "broker": "broker", "requests": "requests", "median_ms": "median",
            "slowest_ms": "slowest", "slowest_at": "at", "unlogged": "unlogged", "refused": "refused",
        },
    ),
    "flapping_brokers": (
        "Restless brokers",
        {
            "broker": "broker", "spells": "spells out of sync", "left": "left an ISR", "joined": "joined one",
            "partitions": "partitions", "first": "first", "last": "last",
        },
    ),
    "failed_elections": (
        "Failed changes of partitions",
        {
            "time": "time", "topic": "topic", "partition": "partition", "from": "from", "to": "to",
            "cause": "why",
        },
    ),
    "brokers": (
        "Logs",
        {
            "broker": "broker", "sources": "files", "lines": "lines", "errors": "errors",
            "warnings": "warnings", "first": "first", "last": "last",
        },
    ),
    "not_understood": ("Unknown lines", {"lines": "lines", "sources": "files", "sample": "such as"}),
}  # fmt: skip

_TIMES = frozenset(("first", "last", "time", "slowest_at"))


class Table(NamedTuple):
    """A table.

    Attributes:
        title: Its title.
        columns: The titles of the columns.
        forms: The form of each column's values: ``time``, ``span`` (milliseconds) or ``plain``.
        rows: The first rows.
        total: The number of all rows.
    """

    title: str
    columns: Sequence[str]
    forms: Sequence[str]
    rows: Sequence[Sequence[Any]]
    total: int


def tables(document: Document, most: int) -> Iterator[Table]:
    """Generate the tables that have rows, with at most ``most`` rows of each."""
    for answer, (title, columns) in _TABLES.items():
        found = document.answers[answer][:most]
        if found:
            rows = [[row[name] for name in columns] for row in found]
            forms = list(map(_form, columns))
            yield Table(title, list(columns.values()), forms, rows, document.counts[answer])


def _form(column: str) -> str:
    if column.endswith("_ms"):
        return "span"
    return "time" if column in _TIMES else "plain"
