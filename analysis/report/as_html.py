"""The report as an HTML page that needs no network, and the files beside it that it loads on demand.

The page holds the incidents and overviews as JSON and a script that draws them; their details are in
``analysis.report.detail``. Every sentence comes from Python, none from the script.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from importlib.resources import files
from typing import Any, NamedTuple

from barnabas.analysis.questions.audit import CHECKS
from barnabas.analysis.report.as_text import first_lines
from barnabas.analysis.report.detail import (
    ALL,
    GROUP,
    STORIES,
    TOPICS,
    details,
    script,
    step_chunks,
    story,
)
from barnabas.analysis.report.document import CELLS, Document, Row
from barnabas.analysis.report.failovers import Departures, missing_steps
from barnabas.analysis.report.folding import quiet
from barnabas.analysis.report.page_incidents import drawn, incident_files, listed
from barnabas.analysis.report.page_tables import page_tables
from barnabas.analysis.report.strips import Stretch, cells, millis, ms
from barnabas.analysis.report.words import TERMS

_PAGE = files("barnabas.analysis.report") / "page"
_SCRIPTS = (
    "detail.js",
    "time.js",
    "certain.js",
    "scale.js",
    "draw.js",
    "lanes.js",
    "partitions.js",
    "strips.js",
    "answer.js",
    "incidents.js",
    "tables.js",
    "controls.js",
    "main.js",
)

_FINDINGS = 50
"""The most findings of the audit on the page."""

_SAMPLES = 40
"""The most lines on the page that were not understood."""

_EVIDENCE = 5
"""The most lines of a finding."""

_TEXT = 500
"""The most characters of a line."""


class Page(NamedTuple):
    """The report for a browser.

    Attributes:
        html: The page.
        files: The text of each file beside it, by its name in the folder ``analysis.report.detail.FOLDER``.
    """

    html: str
    files: Mapping[str, str]


def page(document: Document) -> Page:
    """Return the page and its files."""
    strips = _strips(document)
    topics = {what: [topic for topic in rows if topic != ALL] for what, rows in strips.items()}
    steps = step_chunks(document, topics)
    data = _data(document, strips, topics) | {"steps": [[each["from"], each["to"]] for each in steps]}
    content = details(document, steps)
    # Files of another run of the same folder must not be taken for this page's.
    build = f"{zlib.crc32(json.dumps([data, content], default=str).encode()):08x}"
    parts = {
        "style": _read("style.css"),
        # A "<" in the data could start the script element's end tag, so it is escaped.
        "data": json.dumps(data | {"build": build}, separators=(",", ":")).replace("<", "\\u003c"),
        "script": "\n".join(_read(name) for name in _SCRIPTS),
    }
    text = _read("page.html")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part, 1)
    return Page(text, {f"{name}.js": script(name, build, each) for name, each in content.items()})


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def _data(
    document: Document,
    strips: Mapping[str, Mapping[str, Sequence[int]]],
    topics: Mapping[str, Sequence[str]],
) -> dict[str, Any]:
    answers, departures = document.answers, Departures(document.incidents)
    leaders: dict[str, set[int]] = {}
    for row in document.leaderships:
        leaders.setdefault(f"{row['topic']}-{row['partition']}", set()).add(row["leader"])
    names = [f"{topic}-{number}" for topic, number in document.pictured]
    return {
        "start": ms(document.start),
        "end": ms(document.end),
        # The list of incidents follows, so that one sentence is enough.
        "first": first_lines(document, len(document.incidents), 1)._asdict(),
        "cells": CELLS,
        "strips": strips,
        "unended": _unended(document, topics),
        "quiet": _quiet(document),
        "brokers": _rows(answers["brokers"], "broker", "lines", "first", "last"),
        "gone": sorted({each["broker"] for row in document.incidents for each in row["absences"]}),
        "controllers": _rows(
            answers["controller_epochs"],
            "controller_epoch", "controller", "since", "until", "next_since", "lines", "changes",
        ),
        "partitions": names,
        "asked": _asked(document, names),
        "leaders": [sorted(leaders.get(name, ())) for name in names],
        "group": GROUP,
        "others": document.partitions - len(document.pictured),
        **listed(document.incidents, 0),
        "incidentFiles": list(incident_files(document.incidents)),
        "incidentsCount": document.incidents_count,
        "stories": [story(row, departures) for row in answers["failovers"][:STORIES]],
        "storiesCount": len(answers["failovers"]),
        "missingSteps": missing_steps(answers["failovers"]),
        "checks": CHECKS,
        "audit": _audit(answers["safety_audit"]),
        "auditCounts": _counts(answers["safety_audit"]),
        "tables": page_tables(document),
        "unknown": [
            row | {"sample": row["sample"][:_TEXT]}
            for row in _rows(answers["not_understood"][:_SAMPLES], "lines", "sources", "first", "sample")
        ],
        "terms": TERMS,
    }  # fmt: skip


def _asked(document: Document, names: Sequence[str]) -> str | None:
    """Return the partition about which the page answers first: one of the worst incident that has any."""
    for row in document.incidents:
        own = {name for cost in row["costs"] for name in cost["partitions"]}
        if own:
            return next((name for name in names if name in own), names[0] if names else None)
    return names[0] if names else None


def _strips(document: Document) -> dict[str, dict[str, Sequence[int]]]:
    """Return the strips of the topics that are in trouble most, and of all topics together."""
    kept: dict[str, dict[str, Sequence[int]]] = {}
    totals: Mapping[str, Mapping[str, Sequence[int]]] = {}
    if document.start is not None and document.end is not None and document.stretches:
        every = (
            Stretch(row["what"], ALL, millis(row["since"]), ms(row["until"])) for row in document.stretches
        )
        totals = cells(every, millis(document.start), millis(document.end), CELLS)
    for what, rows in document.strips.items():
        summed = [sum(column) for column in zip(*rows.values(), strict=True)] or [0] * CELLS
        worst = sorted(rows, key=lambda topic: (-sum(rows[topic]), topic))[:TOPICS]
        total = totals.get(what, {}).get(ALL, summed)
        kept[what] = {ALL: total, **{topic: rows[topic] for topic in worst}}
    return kept


def _unended(
    document: Document, topics: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, tuple[int, int]]]:
    """Return by trouble and topic since when some stretches have no known end, and their number."""
    kept: dict[str, dict[str, tuple[int, int]]] = {}
    for row in document.unended:
        by_topic = kept.setdefault(row["what"], {})
        since, number = millis(row["since"]), row["partitions"]
        earliest, total = by_topic.get(ALL, (since, 0))
        by_topic[ALL] = (min(earliest, since), total + number)
        if row["topic"] in topics.get(row["what"], ()):
            by_topic[row["topic"]] = (since, number)
    return kept


def _quiet(document: Document) -> list[tuple[int, int]]:
    if document.start is None or document.end is None:
        return []
    return quiet(_happened(document), millis(document.start), millis(document.end))


def _happened(document: Document) -> Iterator[tuple[int, int]]:
    """Generate the begin and the end of each event that the page draws."""
    for row in document.incidents:
        yield millis(row["since"]), millis(row["until"] or row["since"])
        for absence in row["absences"]:
            moments = drawn(absence)
            names = ("lived", "gone", "starts", "back")
            times = [moments[name] for name in names if moments[name] is not None]
            if times:
                yield min(times), max(times)
    for row in document.answers["controller_epochs"]:
        yield millis(row["since"]), millis(row["since"])
    for row in document.leaderships:
        yield millis(row["since"]), millis(row["since"])
    for row in (*document.stalls, *document.stretches):
        since = millis(row["since"])
        yield since, since
        if row["until"] is not None:
            until = millis(row["until"])
            yield until, until


def _audit(rows: Sequence[Row]) -> list[dict[str, Any]]:
    columns = ("check", "time", "topic", "partition", "broker", "controller_epoch", "detail", "evidence")
    return [
        row | {"evidence": [line[:_TEXT] for line in (row["evidence"] or ())[:_EVIDENCE]]}
        for row in _rows(rows[:_FINDINGS], *columns)
    ]


def _counts(rows: Sequence[Row]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["check"]] = counts.get(row["check"], 0) + 1
    return counts


def _rows(rows: Sequence[Row], *columns: str) -> list[dict[str, Any]]:
    return [{column: _plain(row[column]) for column in columns} for row in rows]


def _plain(value: Any) -> Any:
    return ms(value) if isinstance(value, datetime) else value
