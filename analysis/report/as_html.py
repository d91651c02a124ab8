"""The report as one HTML file that needs no network.

The page holds the content as JSON and a script that draws it. Every sentence comes from Python, none from the
script.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from importlib.resources import files
from typing import Any

from barnabas.analysis.questions.audit import CHECKS
from barnabas.analysis.report.as_markdown import post_mortem
from barnabas.analysis.report.as_text import cost
from barnabas.analysis.report.document import OFFLINE, UNDER_REPLICATED, Document, Row
from barnabas.analysis.report.first_sentences import left, nothing
from barnabas.analysis.report.incidents import is_internal
from barnabas.analysis.report.logs_read import audit, logs_read
from barnabas.analysis.report.tables import tables

_PAGE = files("barnabas.analysis.report") / "page"
_SCRIPTS = (
    "time.js", "certain.js", "draw.js", "strips.js", "lanes.js", "partitions.js", "incidents.js", "tables.js",
    "controls.js", "main.js",
)  # fmt: skip

_INCIDENTS = 100
"""The most incidents on the page, the worst ones."""

_EVIDENCE = 4
"""The most lines of a sentence, a finding or a condition."""

_DETAILS = 20
"""The most sentences of an incident."""

_TEXT = 300
"""The most characters of a line."""

_FINDINGS = 50
"""The most findings of the audit on the page."""

_ROWS = 50
"""The most rows of a table."""

_TOPICS = 40
"""The most topics of which the strips are shown one by one, those in trouble most; ``_ALL`` counts all."""

_ALL = ""
"""The name under which strips count the partitions of all topics."""

_EPOCH = datetime(1970, 1, 1)  # noqa: DTZ001  (the logs' times have no zone)

_MILLISECOND = timedelta(milliseconds=1)


def page(document: Document) -> str:
    """Return the page."""
    parts = {
        "style": _read("style.css"),
        # A "<" in the data could start the script element's end tag, so it is escaped.
        "data": json.dumps(_data(document), separators=(",", ":"), default=ms).replace("<", "\\u003c"),
        "script": "\n".join(_read(name) for name in _SCRIPTS),
    }
    text = _read("page.html")
    for name, part in parts.items():
        text = text.replace(f"{{{{{name}}}}}", part, 1)
    return text


def _read(name: str) -> str:
    return (_PAGE / name).read_text(encoding="utf-8")


def ms(time: datetime) -> int:
    """Return a time as the page has it: milliseconds since 1970, as if it were UTC."""
    return round((time - _EPOCH) / _MILLISECOND)


def _data(document: Document) -> dict[str, Any]:
    answers = document.answers
    names = [f"{topic}-{number}" for topic, number in document.pictured]
    incidents = document.incidents[:_INCIDENTS]
    return {
        "start": document.start,
        "end": document.end,
        "nothing": nothing(document),
        "conditions": [_condition(row) for row in document.conditions],
        "incidents": [_incident(row, document.zone) for row in incidents],
        "incidentsCount": document.incidents_count,
        "left": list(left(document)),
        "absences": [
            _drawn(each) | {"incident": index}
            for index, row in enumerate(incidents)
            for each in row["absences"]
        ],
        "cost": list(cost(document)),
        "brokers": _columns(answers["brokers"], "broker", "first", "last"),
        "controllers": _columns(
            answers["controller_epochs"],
            "controller_epoch", "controller", "since", "until", "next_since", "changes",
        ),
        "partitions": names,
        "others": document.partitions - len(names),
        "leaderships": _by_partition(
            document.leaderships, ("leader", "leader_epoch", "since", "led_at", "until", "why", "ended")
        ),
        "stretches": _by_partition(
            [row for row in document.stretches if f"{row['topic']}-{row['partition']}" in set(names)],
            ("what", "since", "earliest", "until"),
        ),
        "strips": _strips(document),
        "unended": _unended(document),
        "checks": CHECKS,
        "audit": _audit(answers["safety_audit"]),
        "audited": list(audit(document)),
        "tables": [each._asdict() for each in tables(document, _ROWS)],
        "read": list(logs_read(document)),
    }  # fmt: skip


def _condition(row: Row) -> dict[str, Any]:
    names = ("alarm", "text", "detail", "means", "advice", "source", "more_lines")
    return {name: row[name] for name in names} | {"lines": _lines(row)}


def _incident(row: Row, zone: str) -> dict[str, Any]:
    return {
        **{name: row[name] for name in ("kind", "severity", "brokers", "topics", "since", "until")},
        **_sentence(row),
        "details": [_sentence(each) for each in row["details"][:_DETAILS]],
        "markdown": post_mortem(row, zone),
    }


def _sentence(row: Row) -> dict[str, Any]:
    lines = _lines(row)
    more = row["more_lines"] + len(row["lines"]) - len(lines)
    return {"text": row["text"], "lines": lines, "more_lines": more}


def _lines(row: Row) -> list[str]:
    return [f"{line['place']}  {line['raw'][:_TEXT]}" for line in row["lines"][:_EVIDENCE]]


def _drawn(absence: Row) -> dict[str, Any]:
    """Return what is drawn of an absence: only a known end of each of its moments."""
    gone, returned = absence["gone"], absence["returned"]
    return {
        "broker": absence["broker"],
        "lived": gone.get("at_least"),
        "gone": gone.get("value") or gone.get("at_most") or absence["noticed"].get("value"),
        "starts": returned.get("value") or returned.get("at_least"),
        "back": returned.get("value") or returned.get("at_most"),
    }


def _by_partition(rows: Iterable[Row], columns: Sequence[str]) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        name = f"{row['topic']}-{row['partition']}"
        found.setdefault(name, []).append({column: row[column] for column in columns})
    return found


def _strips(document: Document) -> dict[str, dict[str, list[tuple[int, int]]]]:
    """Return by trouble and topic how many partitions were in it from each time on.

    Of a stretch whose end no line shows only the begin counts; what follows is not known.
    """
    steps: dict[tuple[str, str], Counter[int]] = {}
    for row in document.stretches:
        since, until = ms(row["since"]), ms(row["until"] or row["since"])
        for topic in (_ALL, row["topic"]):
            own = steps.setdefault((row["what"], topic), Counter())
            own[since] += 1
            # A stretch that is over within a millisecond is still visible.
            own[max(until, since + 1)] -= 1
    shown: dict[str, dict[str, list[tuple[int, int]]]] = {OFFLINE: {}, UNDER_REPLICATED: {}}
    worst = sorted(steps, key=lambda key: (key[1] != _ALL, is_internal(key[1]), -len(steps[key]), key[1]))
    for what, topic in worst:
        if len(shown[what]) <= _TOPICS:
            shown[what][topic] = _running(steps[what, topic])
    return shown


def _unended(document: Document) -> dict[str, dict[str, int]]:
    """Return by trouble and topic since when the end of some stretch is not known."""
    shown: dict[str, dict[str, int]] = {OFFLINE: {}, UNDER_REPLICATED: {}}
    for row in document.stretches:
        if row["until"] is None:
            since, own = ms(row["since"]), shown[row["what"]]
            for topic in (_ALL, row["topic"]):
                own[topic] = min(own.get(topic, since), since)
    return shown


def _running(steps: Mapping[int, int]) -> list[tuple[int, int]]:
    number, shown = 0, []
    for time in sorted(time for time, step in steps.items() if step):
        number += steps[time]
        shown.append((time, number))
    return shown


def _audit(rows: Sequence[Row]) -> list[dict[str, Any]]:
    columns = ("check", "time", "topic", "partition", "detail")
    return [
        {column: row[column] for column in columns}
        | {"evidence": [line[:_TEXT] for line in (row["evidence"] or ())[:_EVIDENCE]]}
        for row in rows[:_FINDINGS]
    ]


def _columns(rows: Sequence[Row], *columns: str) -> list[dict[str, Any]]:
    return [{column: row[column] for column in columns} for row in rows]
