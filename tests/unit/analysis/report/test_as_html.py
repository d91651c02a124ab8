"""The report for a person: the file, and what a browser makes of it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from barnabas.analysis.derived.unavailability import NOBODY_IN_SYNC
from barnabas.analysis.questions.availability import OFFLINE, UNDER_REPLICATED
from barnabas.analysis.report.as_html import page as page_of
from barnabas.analysis.report.detail import FOLDER
from barnabas.analysis.report.document import CELLS, DRAWN, PICTURED, ROWS, STRETCHES, Document, Row, unended
from barnabas.analysis.report.incidents import INCIDENTS, TOPICS
from barnabas.analysis.report.strips import Stretch, cells, millis
from barnabas.analysis.story.causes import Cause

_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "chrome-headless-shell")


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script id="data" type="application/json">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def html(document: Document) -> str:
    return page_of(document).html


def test_the_page_needs_nothing_but_its_files(document: Document) -> None:
    page = html(document)
    assert "{{" not in page
    assert not re.search(r"""(?:src|href)=["'](?!data:)|@import|url\((?!#)|fetch\(""", page)
    addresses = set(re.findall(r"https?://[^\s\"'<]+", page))
    assert addresses == {"http://www.w3.org/2000/svg"}  # a name of the language, nothing that is loaded


def test_its_template_is_found_outside_of_a_checkout(tmp_path: Path) -> None:
    # With -P the working directory is not searched, as it is not by the installed command.
    command = [sys.executable, "-P", "-c", "import barnabas.analysis.report.as_html"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.stderr == ""


def test_text_of_logs_is_never_markup(document: Document) -> None:
    page = html(document)
    assert "<b>is</b>" not in page
    assert "<i>around</i>" not in page
    assert "<i>around</i>" in json.dumps(data_of(page))


def test_times_are_the_brokers_own(document: Document) -> None:
    told = data_of(html(document))
    assert told["start"] == 1_795_230_000_000  # 2026-11-21 03:00 as if it were UTC
    assert told["partitions"] == ["orders-3"]


def test_an_outage_that_lasts_has_no_span(document: Document) -> None:
    (row,) = document.answers["partitions_without_leader"]
    answers = {**document.answers, "partitions_without_leader": [row | {"lasting": True}]}
    tables = data_of(html(replace(document, answers=answers)))["tables"]
    assert isinstance(tables, list)
    assert tables[0]["rows"][0][3:6] == ["no end shown"] * 3


def test_a_leader_that_stops_last_leads_until_it_ends(document: Document) -> None:
    (incident,), stall = document.incidents, document.stalls[1]
    (absence,) = incident["absences"]
    assert stall["cause"] == NOBODY_IN_SYNC
    ended = stall["since"] + timedelta(seconds=3)
    stopped = absence | {"cause": Cause.PLANNED.value, "gone": {"certainty": "fact", "value": ended}}
    for each, surely in ((absence, stall["since"]), (stopped, ended)):
        shown = replace(
            document, incidents=[incident | {"absences": [each]}], leaderships=document.leaderships[:1]
        )
        stalls = page_of(shown).files["rows-0.js"]
        assert f'"surely":{millis(surely)},' in stalls


def test_a_time_without_a_leader_is_drawn_as_proven_from_the_end_of_its_leader_on(document: Document) -> None:
    stall = next(each for each in document.stalls if each["what"] == OFFLINE)
    until = millis(stall["until"])
    noticed_at = until - millis(stall["since"])
    for at_least_ms, proven in ((noticed_at + 3_100.5, noticed_at + 3_100), (100.0, noticed_at)):
        stalls = [
            stall | {"cause": "its leader went offline", "at_least_ms": at_least_ms, "at_most_ms": None}
        ]
        files = page_of(replace(document, stalls=stalls)).files
        assert f'"surely":{until - proven},' in files["rows-0.js"]


def test_what_nothing_bounds_is_unknown(document: Document) -> None:
    (row,) = document.answers["partitions_without_leader"]
    answers = {**document.answers, "partitions_without_leader": [row | {"at_most_ms": None}]}
    tables = data_of(html(replace(document, answers=answers)))["tables"]
    assert isinstance(tables, list)
    assert tables[0]["rows"][0][3:6] == [152_530, "?", 152_530]


def test_a_report_of_nothing_is_a_page_too(document: Document) -> None:
    nothing = replace(
        document, start=None, end=None, lines=0, understood=0, partitions=0, pictured=(), leaderships=(),
        isr=(), stalls=(), strips={}, answers={name: [] for name in document.answers},
    )  # fmt: skip
    assert data_of(html(nothing))["start"] is None


def at_its_limits(document: Document) -> Document:
    """The most that a report tells, however many lines the logs have."""

    def many(rows: Sequence[Row]) -> list[Row]:
        told = [dict(rows[0]) | {"partition": number % PICTURED} for number in range(DRAWN)]
        return sorted(told, key=lambda row: row["partition"])

    assert document.start is not None
    (incident,), start = document.incidents, document.start
    line = {**incident["lines"][0], "raw": "x" * 400}
    told = {"text": "It happened. " * 20, "lines": [line] * 12, "more_lines": 3}
    worst = incident | told | {
        "details": [told] * 20, "absences": incident["absences"] * 20,
        "topics": [f"topic-number-{number}" for number in range(TOPICS)],
        "costs": [
            {"partitions": [f"orders-{number}" for number in range(2_000)], "leaders": [1, 2],
             "ending": "moved", "duration_ms": {"certainty": "fact", "value": 3.0}, "failed_elections": 1}
        ],
    }  # fmt: skip
    topics = [f"a-topic-with-a-longer-name-{number}" for number in range(500)]
    stretches = [
        {"what": (OFFLINE, UNDER_REPLICATED)[number % 2], "topic": topics[number % 499],
         "since": start + timedelta(milliseconds=number * 17),
         "until": start + timedelta(milliseconds=number * 17 + 500 + number % 91)}
        for number in range(STRETCHES)
    ]  # fmt: skip
    counted = [
        Stretch(row["what"], row["topic"], millis(row["since"]), millis(row["until"])) for row in stretches
    ]
    return replace(
        document,
        pictured=[("orders", number) for number in range(PICTURED)],
        leaderships=many(document.leaderships), isr=many(document.isr), stalls=many(document.stalls),
        answers={name: (list(rows) * ROWS)[:ROWS] for name, rows in document.answers.items()},
        incidents=[worst] * INCIDENTS, incidents_count=9_999, stretches=stretches,
        strips=cells(counted, millis(start), millis(document.end or start), CELLS),
    )  # fmt: skip


def test_a_page_of_any_logs_is_small_and_so_is_each_file(document: Document) -> None:
    made = page_of(at_its_limits(document))
    assert len(made.html) < 2_000_000
    assert max(map(len, made.files.values())) < 1_000_000
    assert len(made.files) > INCIDENTS


@pytest.fixture(scope="module")
def browser() -> str:
    for name in _BROWSERS:
        if found := shutil.which(name):
            return found
    reason = f"no browser is installed: looked for {', '.join(_BROWSERS)}"
    if os.environ.get("REQUIRE_BROWSER") == "1":
        pytest.fail(f"REQUIRE_BROWSER=1, but {reason}")
    pytest.skip(reason)


def write(document: Document, page: Path) -> None:
    made, folder = page_of(document), page.parent / FOLDER
    folder.mkdir(exist_ok=True)
    page.write_text(made.html, encoding="utf-8")
    for name, content in made.files.items():
        (folder / name).write_text(content, encoding="utf-8")


def rendered(browser: str, page: Path, fragment: str, profile: Path) -> str:
    """What the browser makes of the page; what its script complains of fails the test."""
    done = subprocess.run(
        [
            browser, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
            "--no-first-run", f"--user-data-dir={profile}", "--virtual-time-budget=3000",
            "--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr", "--dump-dom",
            f"{page.as_uri()}#{fragment}",
        ],
        capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    # A slow browser complains of its own pages, such as chrome://resources, too.
    lines = (line for line in done.stderr.splitlines() if ":CONSOLE:" in line)
    said = [line for line in lines if "source: chrome://" not in line]
    assert not said, "\n".join(said)
    return done.stdout


def test_a_question_that_was_mangled_on_its_way_is_answered(
    document: Document, browser: str, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    write(document, page)
    shown = rendered(browser, page, "orders%", tmp_path / "profile")
    assert 'data-ready="yes"' in shown
    assert 'data-asked="orders%"' in shown


def test_a_browser_answers_why_writes_to_orders_3_stalled_at_03_12(
    document: Document, browser: str, tmp_path: Path
) -> None:
    page = tmp_path / "report.html"
    write(document, page)
    shown = rendered(browser, page, "orders-3@03:12", tmp_path / "profile")
    assert 'data-ready="yes"' in shown
    answer = re.search(r'<section id="answer".*?</section>', shown, re.DOTALL)
    assert answer is not None
    assert "<h3>orders-3 had no leader for at least 2 min 32 s and at most 2 min 39 s: " in answer[0]
    assert "03:12:02.000" in answer[0]
    assert "broker 1 began to lead" in answer[0]
    told = re.search(r'<div id="incidents">.*?</section>', shown, re.DOTALL)
    assert told is not None
    assert (
        'died; orders-3 had no leader for <span class="bound" title="bound">at most 2 min 39 s</span>.'
        in told[0]
    )
    at_the_worst = rendered(browser, page, "", tmp_path / "profile")
    assert "<pre>broker-2/state-change.log:7  [2026-11-21 03:12:08,010] &lt;lost&gt;</pre>" in at_the_worst
    # Pictures: controllers and brokers, strips, partitions.
    lanes = re.search(r'<div id="lanes">.*?</div>', shown, re.DOTALL)
    assert lanes is not None
    assert all(
        word in lanes[0] for word in ("Controller", "Broker 3", "without a leader", "under-replicated")
    )
    assert "orders-3" in shown[shown.index('<div id="rows">') :]
    assert document.start is not None
    write(replace(document, start=document.start - timedelta(days=2)), page)
    # The day on which it stalled is found, and each time tells its day.
    for fragment in ("orders-3@03:12", "orders-3@11-21 03:12"):
        shown = rendered(browser, page, fragment, tmp_path / "profile")
        assert "<time>11-21 03:12:02.000</time>" in shown
        assert "orders-3 had no leader for at most 2 min 39 s" in shown
    write(replace(document, start=document.start - timedelta(days=9 * 365)), page)
    shown = rendered(browser, page, "orders-3@11-21 03:12", tmp_path / "profile")
    # The year is told with each time, and the axis has as many labels as there is room for.
    assert "<time>2026-11-21 03:12:02.000</time>" in shown
    assert shown.count('class="grid"') < 30
    write(at_its_limits(document), page)
    assert 'data-ready="yes"' in rendered(browser, page, "orders-199", tmp_path / "profile")
    write(document, page)
    quiet = rendered(browser, page, "orders-3@03:05", tmp_path / "profile")
    assert "Nothing in these logs kept writes to orders-3 waiting at 03:05." in quiet


def test_trouble_whose_end_no_line_shows_is_named_and_not_counted_to_the_end(document: Document) -> None:
    start = document.start
    assert start is not None
    rows = [
        {"what": OFFLINE, "topic": topic, "since": start + timedelta(minutes=minute), "until": until}
        for topic, minute, until in (("a", 5, None), ("a", 3, None), ("b", 4, None), ("b", 1, start))
    ]
    found = unended(rows)
    assert [(each["topic"], each["since"].minute, each["partitions"]) for each in found] == [
        ("a", 3, 2), ("b", 4, 1),
    ]  # fmt: skip
    kept = {OFFLINE: {"a": [1] * CELLS}, UNDER_REPLICATED: {}}
    data = data_of(page_of(replace(document, stretches=rows, unended=found, strips=kept)).html)
    at_3 = millis(start + timedelta(minutes=3))
    assert data["unended"] == {OFFLINE: {"": [at_3, 3], "a": [at_3, 2]}}
    assert data["strips"][OFFLINE][""][-1] == 0
