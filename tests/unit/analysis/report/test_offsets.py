"""A metadata log in which times fall where another controller follows, in the timeline and the failovers."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

from barnabas.analysis.reading.blocks import Origin, read_entries
from barnabas.analysis.reading.metadata.log import read_log
from barnabas.analysis.report.as_text import text
from barnabas.analysis.report.document import Document
from barnabas.analysis.report.failovers import failover_steps
from barnabas.analysis.report.offsets import behind
from barnabas.analysis.report.same_stories import failovers
from barnabas.analysis.story.incidents import incidents
from barnabas.analysis.story.observed import Observed
from barnabas.bench.truth.claims import observed, read
from tests.unit.analysis.reading.metadata.conftest import change, in_order, number, registration_change
from tests.unit.analysis.reading.metadata.conftest import log as log  # noqa: PLC0414
from tests.unit.analysis.story.test_metadata import FENCE, SECOND, UNFENCE, Log, born
from tests.unit.analysis.story.test_record_times import at, elected, started


def seen_in(segment: Path) -> Observed:
    rows = read({})
    for entries in read_log(segment):
        rows.extend(read_entries(entries, Origin("segment", 0, 1)).rows.to_pylist())
    return observed(rows)


def late(log: Log) -> Observed:
    """A broker lost at 60 s, which the next controller sees return at 53 s of its clock."""
    records = in_order(
        started(1)
        + at(60, change(t1=number(-1)), registration_change(1, 1, **FENCE))
        + elected(48, 9, 2)
        + at(52, born(1, 30, SECOND), epoch=2)
        + at(53, registration_change(1, 30, **UNFENCE), change(t1=number(1)), epoch=2)
    )
    return seen_in(log(records))


def test_the_records_of_the_next_controller_are_by_a_clock_that_is_behind(log: Log) -> None:
    seen = late(log)
    found = behind(seen, incidents(seen))
    assert {name: each // 1000 for name, each in found.items()} == {
        "controller epoch 2": 12,
        "leader a-b-0 1 2": 12,
        "ISR a-b-0 1 2 2": 12,
        "incident 0 absence 0 returned": 12,
    }


def test_records_in_the_order_of_their_times_are_by_one_clock(log: Log) -> None:
    records = in_order(started(1) + at(60, change(t1=number(-1)), registration_change(1, 1, **FENCE)))
    seen = seen_in(log(records))
    assert behind(seen, incidents(seen)) == {}


def test_the_timeline_orders_what_is_by_a_clock_that_is_behind(document: Document) -> None:
    first, second = document.answers["controller_epochs"]
    early = second | {"since": first["since"] - timedelta(seconds=2)}
    answers = {**document.answers, "controller_epochs": [first, early]}
    key = f"controller epoch {second['controller_epoch']}"
    lines = list(text(replace(document, answers=answers, leaderships=(), isr=(), behind={key: 3_000.0})))
    begin = lines.index("Timeline") + 1
    told = [line.split("  ")[-1] for line in lines[begin : begin + 4] if "controller  " in line]
    assert told == [
        "broker 1 is controller, epoch 7",
        "broker 2 is controller, epoch 8 (by a clock that is at least 3.0 s behind)",
    ]


def test_a_failover_claims_no_time_between_records_of_two_clocks(log: Log) -> None:
    found = incidents(late(log))
    lost, back = found[0].since, found[0].until
    assert back is not None
    assert back < lost
    row = {
        "broker": 8, "controller": 9, "controller_epoch": 2, "partitions": 0, "last_logged": lost,
        "controller_since": back, "noticed": back, "elected": None, "returned": None, "sent": None,
        "led": None, "followed": None, "waited": 0, "stranded": 0, "led_unseen": 0, "led_behind": None,
        "followed_behind": None, "moved": 0, "leaders": [],
    }  # fmt: skip
    (told,) = failovers([row], found, {})
    assert [(step.text, step.is_apart) for step in failover_steps(told)] == [
        ("the last line of broker 8 as controller", False),
        ("broker 9 became controller, epoch 2, by a clock that is behind", True),
    ]
