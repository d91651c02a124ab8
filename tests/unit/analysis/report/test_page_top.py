"""The top of the page, and its list of incidents, however many there are, in a real browser."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, expect

from barnabas.analysis.questions.audit import TWO_CONTROLLERS
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.files import Format, write_report
from tests.unit.analysis.report.conftest import Opened

WAIT_MS = 60_000

expect.set_options(timeout=WAIT_MS)


def texts(page: Page) -> list[str]:
    return page.locator("#incidents .incident > summary").all_inner_texts()


def test_each_of_many_incidents_can_be_reached(browser: Browser, document: Document, tmp_path: Path) -> None:
    (incident,) = document.incidents
    many = [
        incident
        | {"text": f"Number {number}.", "topics": [f"job-{number}"],
           "since": incident["since"] + timedelta(seconds=number / 4)}
        for number in range(230)
    ]  # fmt: skip
    write_report(replace(document, incidents=many, incidents_count=230), tmp_path, Format.TEXT)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    expect(page.locator("#first")).to_have_text("Number 0.")
    expect(page.locator("#happened")).to_contain_text("229 more incidents are like it (broker 1: died)")
    expect(page.locator("#shown")).to_have_text("230")
    expect(page.locator("#incidents .incident")).to_have_count(20)
    expect(page.locator("#more-incidents")).to_have_text("show 100 of 210 more")
    for _ in range(3):
        page.click("#more-incidents")
    expect(page.locator("#more-incidents")).to_have_count(0)
    assert texts(page)[229].startswith("critical Number 229.")
    page.select_option("#by-topic", "job-207")
    (told,) = texts(page)
    assert "Number 207." in told
    page.locator(".incident .show").click()
    expect(page.locator(".incident.current pre").first).to_be_attached()
    page.close()


def test_the_next_incident_may_be_one_that_is_not_listed_yet(
    browser: Browser, document: Document, tmp_path: Path
) -> None:
    (incident,) = document.incidents
    many = [incident | {"text": f"Number {number}."} for number in range(102)]
    write_report(replace(document, incidents=many, incidents_count=102), tmp_path, Format.TEXT)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    page.locator(".incident .show").nth(19).click()
    page.keyboard.press("j")
    expect(page.locator(".incident.current")).to_contain_text("Number 20.")
    page.close()


def test_the_first_sentence_is_the_most_prominent_text(opened: Opened) -> None:
    page = opened()
    expect(page.locator("h1")).to_have_text(
        "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s."
    )
    sizes = page.evaluate(
        """() => [...document.querySelectorAll("body *")]
          .filter((each) => each.innerText && !each.closest("h1"))
          .map((each) => parseFloat(getComputedStyle(each).fontSize))"""
    )
    largest = page.evaluate("parseFloat(getComputedStyle(document.querySelector('h1')).fontSize)")
    assert max(sizes) < largest
    above = page.evaluate("document.querySelector('h1').getBoundingClientRect().top")
    assert above < 100


def test_a_long_audit_leaves_the_incidents_on_the_first_screen(
    browser: Browser, document: Document, finding: dict[str, Any], tmp_path: Path
) -> None:
    mixed = [finding | {"check": TWO_CONTROLLERS, "topic": None}] * 40
    answers = document.answers | {"safety_audit": mixed}
    found = replace(document, answers=answers, counts=document.counts | {"safety_audit": 40})
    write_report(found, tmp_path, Format.TEXT)
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    top = page.locator("#incidents .incident").first.bounding_box()
    assert top is not None
    assert top["y"] < 800
    lines = page.locator("#summary > li").all_inner_texts()
    audit = lines.index("SAFETY AUDIT: 40 findings.")
    assert lines[audit + 1].startswith("(Mixed logs of several clusters")
    assert lines[-1] == "10 more lines of the audit"
    page.close()


def test_the_page_is_no_wider_than_a_phone(opened: Opened) -> None:
    page = opened()
    page.set_viewport_size({"width": 400, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= 400


def test_the_values_of_an_incident_say_what_they_are_of(
    browser: Browser, document: Document, tmp_path: Path
) -> None:
    (incident,) = document.incidents
    cost = {"duration_ms": {"certainty": "fact", "value": 3.0}, "ending": "moved", "leaders": [2],
            "failed_elections": 0}  # fmt: skip
    costs = [cost | {"partitions": ["orders-3"]}, cost | {"partitions": ["calm-0", "calm-1"]}]
    write_report(replace(document, incidents=[incident | {"costs": costs}]), tmp_path, Format.TEXT)
    page = browser.new_page()
    page.goto((tmp_path / "report.html").as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=WAIT_MS)
    expect(page.locator(".incident.current dl dt")).to_have_text(
        [
            "broker 1 left",
            "the cluster noticed the loss of broker 1",
            "broker 1 returned",
            "orders-3 had no leader for",
            "2 partitions had no leader for",
        ]
    )
    page.close()
