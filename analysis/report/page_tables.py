"""The tables at the end of the page: their questions, columns and titles."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.strips import ms

_ROWS = 50
"""The most rows of a table in the page."""

_TEXT = 500
"""The most characters of a cell."""

_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "partitions_without_leader": (
        "Partitions without a leader",
        {
            "topic": "topic", "partition": "partition", "outages": "times", "total_ms": "at least",
            "at_most_ms": "at most", "longest_ms": "longest", "first": "first", "cause": "why",
        },
    ),
    "isr_churn": (
        "ISR churn",
        {
            "topic": "topic", "partition": "partition", "shrinks": "shrinks", "expands": "expands",
            "unseen": "unseen writes", "least": "smallest", "assigned": "assigned",
        },
    ),
    "flapping_brokers": (
        "Restless brokers",
        {
            "broker": "broker", "spells": "spells out of sync", "left": "left an ISR", "joined": "joined one",
            "partitions": "partitions", "first": "first", "last": "last",
        },
    ),
    "slowest_leader_and_isr": (
        "Slowest LeaderAndIsr requests",
        {
            "broker": "broker", "duration_ms": "took", "partitions": "partitions", "received": "received",
            "controller": "controller", "controller_epoch": "epoch", "correlation_id": "correlation id",
        },
    ),
    "request_times": (
        "Requests of the controller",
        {
            "api": "request", "broker": "broker", "requests": "requests", "median_ms": "median",
            "slowest_ms": "slowest", "unlogged": "unlogged", "refused": "refused",
        },
    ),
    "unclean_elections": (
        "Unclean elections",
        {
            "topic": "topic", "partition": "partition", "leader": "leader", "leader_epoch": "epoch",
            "since": "elected", "previous_leader": "leader before", "previous_isr": "ISR before",
        },
    ),
    "failed_elections": (
        "Failed changes of partitions",
        {
            "time": "time", "topic": "topic", "partition": "partition", "from": "from", "to": "to",
            "cause": "why",
        },
    ),
    "preferred_imbalance": (
        "Led by another than the preferred leader",
        {
            "minute": "minute", "broker": "broker", "preferred": "should lead",
            "elsewhere": "of these led by others",
            "percent": "percent",
        },
    ),
    "clock_skew": (
        "Clocks, as elections give them away",
        {
            "controller": "controller", "broker": "broker", "decisions": "compared",
            "least_ms": "least delay",
            "median_ms": "median delay", "behind_ms": "behind at least", "ahead_ms": "perhaps ahead by",
        },
    ),
    "brokers": (
        "Logs",
        {
            "broker": "broker", "sources": "files", "lines": "lines", "errors": "errors",
            "warnings": "warnings", "first": "first", "last": "last",
        },
    ),
}  # fmt: skip
"""The tables at the end of the page: for each question its title, and the title of each column."""


def page_tables(document: Document) -> list[dict[str, Any]]:
    """Return the tables that have rows."""
    return [
        {
            "title": title,
            "columns": list(columns.values()),
            # The script formats a column as a time, as a span in milliseconds, as one that is a lower or an
            # upper bound, or as it is.
            "forms": [_form(name) for name in columns],
            "rows": [[_cell(row, name) for name in columns] for row in document.answers[answer][:_ROWS]],
            "count": document.counts[answer],
        }
        for answer, (title, columns) in _TABLES.items()
        if document.answers[answer]
    ]


def _cell(row: Row, column: str) -> Any:
    """Return the value of a cell; no span of a partition if no line shows the end of its latest outage."""
    if row.get("lasting") and column.endswith("_ms"):
        return "no end shown"
    # Nothing is proven of a time of 0, but 0 bounds a time of less than a millisecond from above.
    is_unknown = row[column] is None if column == "at_most_ms" else column in _BOUNDS and not row[column]
    value = "?" if is_unknown else _plain(row[column])
    return value[:_TEXT] if isinstance(value, str) else value


_BOUNDS = {"total_ms": "at least", "longest_ms": "at least", "at_most_ms": "at most"}


def _form(column: str) -> str:
    if column.endswith("_ms"):
        return _BOUNDS.get(column, "span")
    return "time" if column in {"first", "last", "since", "time", "received", "minute"} else "plain"


def _plain(value: Any) -> Any:
    return ms(value) if isinstance(value, datetime) else value
