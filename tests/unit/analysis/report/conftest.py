"""A report as plain data, made by hand: writes to orders-3 stall at 03:12."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from barnabas.analysis.derived.leaders import LOST, NEW, NONE
from barnabas.analysis.questions.catalog import QUESTIONS
from barnabas.analysis.report.document import OFFLINE, UNDER_REPLICATED, Document
from barnabas.analysis.report.files import Format, write_report
from tests.browser import started_browser

Row = dict[str, Any]


def at(minute: int, second: float = 0) -> datetime:
    return datetime(2026, 11, 21, 3, minute) + timedelta(seconds=second)  # noqa: DTZ001


def leadership(
    leader: int, epoch: int, since: datetime, until: datetime | None, why: str, **more: Any
) -> Row:
    row = {
        "topic": "orders",
        "partition": 3,
        "leader": leader,
        "leader_epoch": epoch,
        "since": since,
        "until": until,
    }
    return row | {"why": why, "ended": None, "led_at": None, "controller": 1, "previous_leader": None} | more


STRETCHES: list[Row] = [
    {"what": OFFLINE, "topic": "orders", "partition": 3, "since": at(12, 8), "earliest": at(12, 2),
     "until": at(14, 40.53)},
    {"what": UNDER_REPLICATED, "topic": "orders", "partition": 3, "since": at(9), "earliest": None,
     "until": None},
]  # fmt: skip
LINE: Row = {
    "source": "file:///logs/broker-2/state-change.log", "block": 0, "line": 7,
    "place": "broker-2/state-change.log:7", "raw": "[2026-11-21 03:12:08,010] <lost>",
}  # fmt: skip
CONDITION: Row = {
    "key": "stale-leader", "alarm": "now", "broker": 4, "since": at(12), "until": at(13),
    "text": "Broker 4 acts as leader with a stale version.", "detail": "From 03:12 to 03:13, 2 lines.",
    "means": "Its ISR changes did not happen.", "advice": "Restart it.", "source": "KAFKA-2729",
    "lines": [LINE], "more_lines": 1,
}  # fmt: skip
INCIDENT: Row = {
    "kind": "a broker left", "severity": "critical", "brokers": [1], "topics": ["orders"],
    "since": at(12, 8.01), "until": at(14, 40.53),
    "text": "Broker 1, the controller, died; orders-3 had no leader for at most 2 min 39 s.",
    "lines": [LINE], "more_lines": 0,
    "details": [
        {"text": "The cluster noticed the loss of broker 1 at 03:12:08.010.", "lines": [LINE],
         "more_lines": 0}
    ],
    "absences": [
        {"broker": 1, "cause": "died",
         "gone": {"certainty": "bound", "at_least": at(12, 2), "at_most": at(12, 8.01)},
         "noticed": {"certainty": "fact", "value": at(12, 8.01)},
         "returned": {"certainty": "unknown", "why": "no line shows that it returned"},
         "was_controller": True, "lines": [LINE]}
    ],
    "costs": [
        {"partitions": ["orders-3"], "ending": "returned", "leaders": [1], "failed_elections": 1,
         "duration_ms": {"certainty": "bound", "at_least": 152_390.0, "at_most": 158_530.0}}
    ],
    "unclean_elections": [],
}  # fmt: skip
FINDING: Row = {
    "check": "two leaders in one epoch", "time": at(1), "topic": "torn", "partition": 0, "leader_epoch": 6,
    "broker": None, "controller_epoch": 5, "detail": "leaders 1 and 2 in leader epoch 6",
    "evidence": ["[…] raw"],
}  # fmt: skip


def answers() -> dict[str, list[Row]]:
    told: dict[str, list[Row]] = {question.name: [] for question in QUESTIONS}
    told["controller_epochs"] = [
        {"controller_epoch": 7, "controller": 1, "since": at(0), "until": at(12, 2), "next_since": at(12, 8),
         "lines": 11, "changes": 8},
        {"controller_epoch": 8, "controller": 2, "since": at(12, 8), "until": at(14, 40), "next_since": None,
         "lines": 9, "changes": 5},
    ]  # fmt: skip
    told["brokers"] = [
        {
            "broker": broker,
            "lines": 20,
            "sources": 1,
            "first": at(0),
            "last": at(15),
            "errors": 0,
            "warnings": 0,
        }
        for broker in (1, 2, 3)
    ]
    told["clock_skew"] = [
        {"controller": 1, "broker": 3, "decisions": 1, "least_ms": -20, "median_ms": -20, "behind_ms": 20,
         "ahead_ms": 0}
    ]  # fmt: skip
    told["request_times"] = [
        {"api": "LEADER_AND_ISR", "broker": 1, "requests": 2, "median_ms": 40, "slowest_ms": 60,
         "slowest_at": at(14, 40.5), "unlogged": 0, "refused": 0}
    ]  # fmt: skip
    told["flapping_brokers"] = [
        {"broker": 1, "left": 2, "joined": 0, "partitions": 2, "spells": 1, "first": at(12), "last": at(12)}
    ]
    told["not_understood"] = [
        {
            "shape": "Danced",
            "lines": 1,
            "sources": 1,
            "first": at(12, 9),
            "sample": "[…] INFO Danced <i>around</i>",
        }
    ]
    return told


@pytest.fixture
def document() -> Document:
    told = answers()
    return Document(
        start=at(0),
        end=at(15),
        lines=60,
        answers=told,
        counts={name: len(rows) for name, rows in told.items()},
        partitions=4,
        pictured=[("orders", 3)],
        leaderships=[
            leadership(1, 0, at(0), at(12, 8), NEW, ended=NONE, led_at=at(0, 0.03)),
            leadership(-1, 1, at(12, 8), at(14, 40.4), NONE, ended=LOST, previous_leader=1),
            leadership(1, 2, at(14, 40.4), None, LOST, led_at=at(14, 40.53), previous_leader=1),
        ],
        isr=[
            {"topic": "orders", "partition": 3, "isr": [1], "size": 1, "assigned": 3, "left": [2, 3],
             "joined": [], "since": at(9), "until": None, "unseen": 1}
        ],
        stretches=STRETCHES,
        incidents=[INCIDENT],
        incidents_count=1,
        logs=[
            {"name": "server.log", "lines": 1_000, "conditions": 8, "unknown": 2},
            {"name": "state-change.log", "lines": 60, "conditions": 1, "unknown": 1},
        ],
    )  # fmt: skip


@pytest.fixture
def finding() -> Row:
    return FINDING


CALM = "Replicas fell out of sync at 03:01:00.000; the worst, calm-0, had 2 of 3 replicas in sync."


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with started_browser() as browser:
        yield browser


def with_another_incident(document: Document) -> Document:
    """The document with a second incident, of another topic, broker, kind and severity."""
    (incident,), (leadership, *_) = document.incidents, document.leaderships
    assert document.start is not None
    other = incident | {
        "kind": "replicas out of sync", "severity": "warning", "brokers": [3], "topics": ["calm"],
        "text": CALM,
        "since": leadership["since"].replace(minute=1), "until": leadership["since"].replace(minute=2),
        "absences": [], "details": [], "costs": [],
    }  # fmt: skip
    calm = leadership | {"topic": "calm", "partition": 0, "leader": 3}
    return replace(
        document, incidents=[incident, other], incidents_count=2,
        pictured=[*document.pictured, ("calm", 0)], leaderships=[*document.leaderships, calm],
    )  # fmt: skip


Opened = Callable[..., Page]


@pytest.fixture
def opened(browser: Browser, document: Document, tmp_path: Path) -> Iterator[Opened]:
    """Open the page of a document; an error in its script fails the test."""
    write_report(with_another_incident(document), tmp_path, Format.TEXT)
    context = browser.new_context(viewport={"width": 1200, "height": 900}, timezone_id="Europe/Berlin")
    context.set_offline(True)
    errors: list[str] = []

    def open_page(shown: Document | None = None) -> Page:
        if shown is not None:
            write_report(shown, tmp_path, Format.TEXT)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto((tmp_path / "report.html").as_uri())
        page.wait_for_selector("html[data-ready=yes]", timeout=60_000)
        return page

    yield open_page
    context.close()
    assert errors == []
