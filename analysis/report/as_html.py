"""The report as one HTML file that needs no network, pictures first.

The file holds the data as JSON and a script that draws it, so that a reader can zoom and select a partition.
Every sentence comes from ``analysis.report.words``, none from the script.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from itertools import groupby
from typing import Any

from barnabas.analysis.questions.audit import CHECKS
from barnabas.analysis.report.as_text import summary
from barnabas.analysis.report.document import CELLS, Document, Row
from barnabas.analysis.report.words import (
    TERMS,
    Step,
    failover_headline,
    failover_steps,
    failover_total,
    headline,
    steps,
    timed,
)

_PAGE = files("barnabas.analysis.report") / "page"
_SCRIPTS = (
    "time.js",
    "draw.js",
    "lanes.js",
    "partitions.js",
    "strips.js",
    "answer.js",
    "tables.js",
    "main.js",
)
_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (the logs' times have no zone)


def html(document: Document) -> str:
    """Return the whole file."""
    # A "<" in the data could start the script element's end tag, so it is escaped.
    data = json.dumps(_data(document), separators=(",", ":")).replace("<", "\\u003c")
    parts = {
        "style": _read("style.css"),
        "data": data,
        "script": "\n".join(_read(name) for name in _SCRIPTS),
    }
    page = _read("page.html")
    for name, text in parts.items():
        page = page.replace(f"{{{{{name}}}}}", text, 1)
    return page


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _data(document: Document) -> dict[str, Any]:
    answers = document.answers
    return {
        "start": _ms(document.start),
        "end": _ms(document.end),
        "summary": list(summary(document)),
        "cells": CELLS,
        "strips": document.strips,
        "brokers": _rows(answers["brokers"], "broker", "lines", "first", "last"),
        "departures": _rows(answers["departures"], "broker", "since", "heard", "back"),
        "controllers": _rows(
            answers["controller_reigns"],
            "controller_epoch", "controller", "since", "until", "next_since", "lines", "changes",
        ),
        "partitions": [f"{topic}-{number}" for topic, number in document.pictured],
        "others": document.partitions - len(document.pictured),
        "reigns": _by_partition(
            document.reigns, "leader", "leader_epoch", "since", "led_at", "until", "why", "ended",
            "controller" ),
        "isr": _by_partition(document.isr, "isr", "size", "assigned", "since", "until", "unseen"),
        "stalls": _stalls(document.stalls),
        "stories": [_story(row) for row in answers["failovers"]],
        "checks": CHECKS,
        "audit": _rows(
            answers["safety_audit"],
            "check", "time", "topic", "partition", "broker", "controller_epoch", "detail", "evidence",
        ),
        "tables": _tables(document),
        "unknown": _rows(answers["not_understood"], "lines", "sources", "first", "sample"),
        "terms": TERMS,
    }  # fmt: skip


def _story(row: Row) -> dict[str, Any]:
    end = row["followed"] or row["led"] or row["elected"] or row["noticed"]
    return {
        "time": _ms(min(row["heard"] or row["noticed"], row["noticed"])),
        "end": _ms(end),
        "headline": failover_headline(row),
        "total": failover_total(row),
        "steps": _steps(failover_steps(row)),
    }


def _stalls(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    shown: dict[str, list[dict[str, Any]]] = {}
    for name, group in groupby(rows, _name):
        around = list(group)
        shown[name] = [
            {
                "what": row["what"],
                "since": _ms(row["earliest"] or row["since"]),
                "noticed": _ms(row["since"]),
                "until": _ms(row["until"]),
                "headline": headline(row),
                "steps": _steps(steps(row, around)),
            }
            for row in around
        ]
    return shown


def _steps(shown: Iterable[Step]) -> list[dict[str, Any]]:
    return [{"time": _ms(step.time), "after": step.after, "text": step.text} for step in timed(shown)]


def _by_partition(rows: Sequence[Row], *columns: str) -> dict[str, list[dict[str, Any]]]:
    return {name: _rows(list(group), *columns) for name, group in groupby(rows, _name)}


def _name(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}"


def _rows(rows: Sequence[Row], *columns: str) -> list[dict[str, Any]]:
    return [{column: _plain(row[column]) for column in columns} for row in rows]


def _plain(value: Any) -> Any:
    return _ms(value) if isinstance(value, datetime) else value


def _ms(value: datetime | None) -> int | None:
    return None if value is None else round((value - _EPOCH).total_seconds() * 1_000)


_TABLES: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "partitions_without_leader": (
        "Partitions without a leader",
        {
            "topic": "topic", "partition": "partition", "outages": "times", "total_ms": "noticed for",
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
            "slowest_ms": "slowest", "unheard": "unheard", "refused": "refused",
        },
    ),
    "unclean_elections": (
        "Unclean elections",
        {
            "topic": "topic", "partition": "partition", "leader": "leader", "leader_epoch": "epoch",
            "since": "elected", "previous_leader": "leader before", "previous_isr": "ISR before",
            "certain": "certain",
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
            "controller": "controller", "broker": "broker", "elections": "compared",
            "least_ms": "least delay",
            "median_ms": "median delay", "behind_ms": "behind at least",
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

_TABLE_ROWS = 50


def _tables(document: Document) -> list[dict[str, Any]]:
    return [
        {
            "title": title,
            "columns": list(columns.values()),
            # The script formats a column as a time, as a span in milliseconds, or as it is.
            "forms": [_form(name) for name in columns],
            "rows": [
                [_cell(row, name) for name in columns] for row in document.answers[answer][:_TABLE_ROWS]
            ],
            "count": document.counts[answer],
        }
        for answer, (title, columns) in _TABLES.items()
        if document.answers[answer]
    ]


def _cell(row: Row, column: str) -> Any:
    """Return the value of a cell; None for the spans of a partition whose latest outage has not ended."""
    if row.get("lasting") and column.endswith("_ms"):
        return "still"
    return "?" if column == "at_most_ms" and row[column] is None else _plain(row[column])


def _form(column: str) -> str:
    if column.endswith("_ms"):
        return "span"
    return "time" if column in {"first", "last", "since", "time", "received", "minute"} else "plain"
