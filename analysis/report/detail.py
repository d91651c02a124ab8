"""The files beside the page that it loads on demand, each a script that hands over its data.

A browser that opens the page from a folder refuses to fetch files but runs scripts, so each file is a call of
``barnabasDetail`` with its name, the page's build, and the data.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any

from barnabas.analysis.derived.lives import NO_LEADER
from barnabas.analysis.derived.unavailability import NOBODY_IN_SYNC
from barnabas.analysis.report.as_markdown import post_mortem
from barnabas.analysis.report.document import Document, Row
from barnabas.analysis.report.failovers import Departures, failover_headline, failover_steps, failover_total
from barnabas.analysis.report.page_incidents import incident_files
from barnabas.analysis.report.same_stories import is_in_incident
from barnabas.analysis.report.strips import Stretch, chunks, millis, ms
from barnabas.analysis.report.words import (
    Step,
    headline,
    steps,
    timed,
)
from barnabas.analysis.story.causes import ORDERLY

FOLDER = "report-detail"
"""The folder beside ``report.html`` that holds the files."""

GROUP = 20
"""The number of partitions whose leaders and stalls are in one file."""

STORIES = 20
"""The number of failovers in the page itself."""

TOPICS = 40
"""The most topics of which the strips are kept one by one, those in trouble most; ``ALL`` counts all."""

ALL = ""
"""The name under which strips count the partitions of all topics."""


def script(name: str, build: str, content: Any) -> str:
    """Return the text of a file."""
    values = (json.dumps(each, separators=(",", ":"), default=_plain) for each in (name, build, content))
    return f"barnabasDetail({','.join(values)});\n"


def details(document: Document, steps: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the content of the files by name.

    Args:
        document: The report.
        steps: What ``step_chunks`` returned.
    """
    made: dict[str, Any] = {}
    for number, incident in enumerate(document.incidents):
        made[f"incident-{number}"] = {
            **{name: incident[name] for name in ("lines", "more_lines", "details", "absences", "costs")},
            "markdown": post_mortem(incident, document.zone),
        }
    made |= incident_files(document.incidents)
    names = [f"{topic}-{number}" for topic, number in document.pictured]
    leaderships = _leaderships(document.leaderships)
    absences = [each for row in document.incidents for each in row["absences"]]
    stalls = _stalls(document.stalls, leaderships, absences)
    for first in range(0, len(names), GROUP):
        group = names[first : first + GROUP]
        made[f"rows-{first // GROUP}"] = {
            "leaderships": {name: leaderships[name] for name in group if name in leaderships},
            "stalls": {name: stalls[name] for name in group if name in stalls},
        }
    if len(document.answers["failovers"]) > STORIES:
        departures = Departures(document.incidents)
        made["stories"] = [story(row, departures) for row in document.answers["failovers"][STORIES:]]
    for number, chunk in enumerate(steps):
        made[f"steps-{number}"] = chunk
    return made


def step_chunks(document: Document, topics: Mapping[str, Sequence[str]]) -> list[dict[str, Any]]:
    """Return the numbers of partitions in trouble in chunks; none if not all stretches are known.

    Args:
        document: The report.
        topics: For each trouble the topics whose strips are kept.
    """
    if document.start is None or document.end is None or not document.stretches:
        return []
    kept = {(what, topic) for what, names in topics.items() for topic in names}
    every = (
        Stretch(row["what"], topic, millis(row["since"]), ms(row["until"]))
        for row in document.stretches
        for topic in (ALL, row["topic"])
    )
    wanted = [each for each in every if each.topic == ALL or (each.what, each.topic) in kept]
    return chunks(wanted, millis(document.start), millis(document.end))


def story(row: Row, departures: Departures) -> dict[str, Any]:
    """Return a failover as the page tells it, with the number of the incident in which its broker left."""
    left = departures.of(row)
    end = row["followed"] or row["led"] or row["elected"] or row["noticed"]
    return {
        "time": ms(min(row["last_logged"] or row["noticed"], row["noticed"])),
        "end": ms(end),
        "headline": failover_headline(row, left),
        "incident": None if left is None else left.incident,
        "total": failover_total(row),
        "steps": _steps(failover_steps(row)),
    }


def _leaderships(rows: Sequence[Row]) -> dict[str, list[dict[str, Any]]]:
    columns = ("leader", "leader_epoch", "since", "led_at", "until", "why", "ended")
    return {
        name: [
            {
                column: ms(row[column]) if isinstance(row[column], datetime) else row[column]
                for column in columns
            }
            for row in group
        ]
        for name, group in groupby(rows, _name)
    }


def _stalls(
    rows: Sequence[Row], leaderships: Mapping[str, Sequence[Row]], absences: Sequence[Row]
) -> dict[str, list[dict[str, Any]]]:
    shown: dict[str, list[dict[str, Any]]] = {}
    for name, group in groupby(rows, _name):
        around = list(group)
        shown[name] = [
            {
                "what": row["what"],
                "since": ms(row["earliest"] or row["since"]),
                "surely": _surely(row, leaderships.get(name, ()), absences),
                "until": ms(row["until"]),
                "is_in_incident": is_in_incident(row),
                "headline": headline(row),
                "steps": _steps(steps(row, around)),
            }
            for row in around
        ]
    return shown


def _surely(stall: Row, leaderships: Sequence[Row], absences: Sequence[Row]) -> int:
    """Return from when on a stall is proven, in milliseconds.

    The end of its leader may prove it before a controller notices. While all brokers stop, elections fail as
    nobody else may lead, and the leader leads until it ends, or a controller removes it.
    """
    noticed, until = millis(stall["since"]), ms(stall["until"])
    if stall["cause"] != NOBODY_IN_SYNC:
        proven = stall.get("at_least_ms")
        return noticed if proven is None or until is None else min(noticed, until - int(proven))
    stops = [
        ended
        for each in absences
        if each["broker"] == stall["leader_before"] and each["cause"] in ORDERLY
        and (ended := ms(each["gone"].get("value") or each["gone"].get("at_most"))) is not None
    ]  # fmt: skip
    removed = [each["since"] for each in leaderships if each["leader"] == NO_LEADER]
    later = [each for each in stops if each > noticed and (until is None or each < until)]
    return min([*later, *(each for each in removed if each >= noticed)]) if later else noticed


def _steps(shown: Iterable[Step]) -> list[dict[str, Any]]:
    return [{"time": ms(step.time), "after": step.after, "text": step.text} for step in timed(shown)]


def _name(row: Row) -> str:
    return f"{row['topic']}-{row['partition']}"


def _plain(value: Any) -> Any:
    if isinstance(value, datetime):
        return millis(value)
    raise TypeError(f"a report holds no {type(value).__name__}: {value!r}")
