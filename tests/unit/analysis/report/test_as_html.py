"""The report for a person: the data of the page."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from barnabas.analysis.report.as_html import ms, page
from barnabas.analysis.report.document import (
    DRAWN,
    OFFLINE,
    PICTURED,
    ROWS,
    STRETCHES,
    UNDER_REPLICATED,
    Document,
    Row,
)
from barnabas.analysis.report.incidents import INCIDENTS, TOPICS


def data_of(document: Document) -> dict[str, Any]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page(document), re.DOTALL)
    assert found is not None
    data: dict[str, Any] = json.loads(found[1])
    return data


def test_the_page_needs_nothing_but_itself(document: Document) -> None:
    made = page(document)
    assert "{{" not in made
    assert not re.search(r"""(?:src|href)=["'](?!data:)|@import|url\((?!#)|fetch\(""", made)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", made))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name of the language, nothing that is loaded


def test_its_template_is_found_outside_of_a_checkout(tmp_path: Path) -> None:
    # With -P the working directory is not searched, as it is not by the installed command.
    command = [sys.executable, "-P", "-c", "import barnabas.analysis.report.as_html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_text_of_logs_is_never_markup(document: Document) -> None:
    assert "<i>around</i>" not in page(document)
    assert "<i>around</i>" in json.dumps(data_of(document))


def test_times_are_the_brokers_own(document: Document) -> None:
    told = data_of(document)
    assert told["start"] == 1_795_230_000_000  # 2026-11-21 03:00 as if it were UTC
    assert told["partitions"] == ["orders-3"]


def test_strips_count_the_partitions_in_trouble(document: Document) -> None:
    start = document.start
    assert start is not None
    minutes = [timedelta(minutes=each) for each in range(10)]
    rows = [
        {"what": OFFLINE, "topic": topic, "partition": 0, "earliest": None, "since": start + minutes[since],
         "until": None if until is None else start + minutes[until]}
        for topic, since, until in (("__b", 1, 4), ("a", 2, 3), ("a", 5, None), ("a", 7, 7))
    ]  # fmt: skip
    data = data_of(replace(document, stretches=rows))
    begin, minute = ms(start), 60_000
    both = [[1, 1], [2, 2], [3, 1], [4, 0], [5, 1], [5, 0], [7, 1], [7, 0]]
    strip = data["strips"][OFFLINE]
    assert [[round((time - begin) / minute), number] for time, number in strip[""]] == both
    # Users' topics come first. What no line ends is not known from then on.
    assert list(strip) == ["", "a", "__b"]
    assert data["unended"][OFFLINE] == {"": begin + 5 * minute, "a": begin + 5 * minute}
    assert data["strips"][UNDER_REPLICATED] == {}


def test_a_report_of_nothing_is_a_page_too(document: Document) -> None:
    nothing = Document(start=None, end=None, lines=0, answers=dict.fromkeys(document.answers, ()), counts={})
    assert data_of(nothing)["start"] is None


def test_a_page_of_any_logs_is_small(document: Document) -> None:
    def many(rows: Sequence[Row]) -> list[Row]:
        return [dict(rows[0]) | {"partition": number % PICTURED} for number in range(DRAWN)]

    assert document.start is not None
    (incident,), start = document.incidents, document.start
    line = {**incident["lines"][0], "raw": "x" * 400}
    told = {"text": "It happened. " * 20, "lines": [line] * 12, "more_lines": 3}
    worst = incident | told | {
        "details": [told] * 10, "absences": incident["absences"] * 20,
        "topics": [f"topic-number-{number}" for number in range(TOPICS)],
    }  # fmt: skip
    stretches = [
        document.stretches[0] | {"topic": f"a-topic-with-a-longer-name-{number % 499}",
         "since": start + timedelta(milliseconds=number * 17),
         "until": start + timedelta(milliseconds=number * 17 + 500 + number % 91)}
        for number in range(2 * STRETCHES)
    ]  # fmt: skip
    at_its_limits = replace(
        document,
        pictured=[("orders", number) for number in range(PICTURED)],
        leaderships=many(document.leaderships), isr=many(document.isr),
        answers={name: (list(rows) * ROWS)[:ROWS] for name, rows in document.answers.items()},
        incidents=[worst] * INCIDENTS, incidents_count=9_999, stretches=stretches,
    )  # fmt: skip
    assert len(page(at_its_limits)) < 8_000_000
