"""The page's answers about partitions and times, in a real browser, without a network."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import Format, write_report
from tests.unit.analysis.report.conftest import Opened

WAIT_MS = 60_000

expect.set_options(timeout=WAIT_MS)


def test_a_partition_is_asked_for_by_its_name_in_the_picture(opened: Opened) -> None:
    page = opened()
    page.locator("#rows text.pick", has_text="calm-0").click()
    expect(page.locator("#answer h3")).to_have_text(
        "No line about calm-0 itself shows that writes to it waited."
    )
    expect(page.locator("#answer .at")).to_contain_text("fell out of sync")
    page.locator("#rows text.pick", has_text="orders-3").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#answer")).to_contain_text("orders-3 had no leader")


def test_a_partition_without_lines_is_answered_with_the_incidents_of_the_time(opened: Opened) -> None:
    page = opened()
    page.fill("#partition", "calm-0")
    for moment, answer in (("03:05", "Nothing in these logs kept"), ("03:12:09", "No line about calm-0")):
        page.fill("#moment", moment)
        page.press("#moment", "Enter")
        expect(page.locator("#answer h3")).to_contain_text(answer)
    page.locator("#answer .at li", has_text="Broker 1, the controller, died").locator("button").click()
    expect(page.locator(".incident.current")).to_contain_text("Broker 1, the controller, died")


def test_incidents_that_no_line_ends_are_apart_from_those_of_a_time(
    opened: Opened, document: Document, tmp_path: Path
) -> None:
    (incident,), short, stall = document.incidents, *document.stalls
    assert document.start is not None
    text = "Broker 3 was lost at 03:00:00.000 (why is unknown without its server.log)."
    old = incident | {"since": document.start, "until": None, "text": text, "details": []}
    late = incident | {
        "since": stall["since"] + timedelta(minutes=2),
        "until": None,
        "text": "Later.",
        "details": [],
    }
    lasting = stall | {"until": None, "led_at": None, "elected": None, "leader_after": None}
    (tmp_path / "old").mkdir()
    write_report(
        replace(document, incidents=[incident, old, late], incidents_count=3, stalls=[short, lasting]),
        tmp_path / "old", Format.TEXT,
    )  # fmt: skip
    page = opened()
    page.goto((tmp_path / "old" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.fill("#partition", "orders-3")
    page.press("#partition", "Enter")
    lists = page.locator("#answer .at")
    expect(lists).to_have_count(2)
    expect(lists.first).to_contain_text("Broker 1, the controller, died")
    expect(lists.first).not_to_contain_text("Broker 3")
    expect(lists.last).to_contain_text("Broker 3 was lost")
    expect(page.locator("#answer")).to_contain_text("Incidents before it, of which no line shows an end:")
    expect(page.locator("#answer")).not_to_contain_text("Later.")
    # The mark of what is unknown holds the name of the file, too.
    expect(lists.last.locator(".unknown").first).to_have_text("why is unknown without its server.log")


@pytest.mark.parametrize(
    ("known", "said"),
    [
        (
            {"leader_epoch": 4, "led_at": datetime.fromisoformat("2026-11-21 03:00:30")},
            "by 03:00:00.000, leader epoch 4, and led it from 03:00:30.000 on.",
        ),
        ({"leader_epoch": 4, "led_at": None}, "by 03:00:00.000, leader epoch 4; no line shows when it led."),
        ({"leader_epoch": None, "led_at": None}, "by 03:00:00.000; no line shows when it led."),
    ],
)
def test_a_broker_led_from_its_own_line_on_and_not_from_its_election_on(
    opened: Opened, document: Document, tmp_path: Path, known: dict[str, Any], said: str
) -> None:
    calm = document.leaderships[0] | {"topic": "calm", "partition": 0, "leader": 3} | known
    told = replace(document, pictured=[("calm", 0)], leaderships=[calm], stalls=[])
    (tmp_path / "quiet").mkdir()
    write_report(told, tmp_path / "quiet", Format.TEXT)
    page = opened()
    page.goto(f"{(tmp_path / 'quiet' / 'report.html').as_uri()}#calm-0@03:05")
    expect(page.locator("#answer p")).to_have_text(f"Broker 3 was elected its leader {said}")


def test_the_first_answer_is_about_what_the_worst_incident_tells(
    opened: Opened, document: Document, tmp_path: Path
) -> None:
    """In logs of several clusters the tables may see an outage, which nothing ends, where no incident is."""
    (incident,), stall = document.incidents, document.stalls[1]
    cost = {"partitions": ["orders-3"], "ending": "elected", "leaders": [1], "failed_elections": 0}
    costly = incident | {"costs": [cost | {"duration_ms": {"certainty": "fact", "value": 9_000.0}}]}
    never_ended = {"until": None, "led_at": None, "elected": None, "leader_after": None}
    other = stall | never_ended | {"topic": "calm", "partition": 0}
    later = stall | never_ended | {"since": stall["since"] + timedelta(minutes=2)}
    shown = [other, stall | {"at_least_ms": 9_000.0, "at_most_ms": 9_000.0}, later]
    drawn = replace(document, incidents=[costly], pictured=[("calm", 0), ("orders", 3)], stalls=shown)
    (tmp_path / "mixed").mkdir()
    write_report(drawn, tmp_path / "mixed", Format.TEXT)
    page = opened()
    page.goto((tmp_path / "mixed" / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    expect(page.locator("#answer h3")).to_contain_text("orders-3 had no leader for 9.0 s")
