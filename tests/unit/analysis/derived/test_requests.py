"""Requests from both ends."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from pyspark.sql import DataFrame

from barnabas.analysis.derived.controllers import controllers
from barnabas.analysis.derived.requests import NOT_LOGGED, OBEYED, REFUSED, requests
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.statechange import ControllerLines, RequestLines, StateChange

pytestmark = pytest.mark.usefixtures("here")

ONE, TWO = BrokerId(1), BrokerId(2)


def at(second: int, line: StateChange) -> str:
    return line.entry(f"2026-11-21 10:00:{second:02},000")


def asked_of(events: DataFrame) -> DataFrame:
    return requests(events, controllers(events))


def test_what_was_sent_is_found_with_the_broker(story: Mapping[str, DataFrame]) -> None:
    rows = (
        story["requests"].where("api = 'LEADER_AND_ISR' and controller_epoch = 8").orderBy("broker").collect()
    )
    assert [(row["broker"], row["partitions"], row["duration_ms"], row["outcome"]) for row in rows] == [
        (1, 4, 60, OBEYED),
        (2, 1, 30, OBEYED),
        (3, 1, 10, OBEYED),
    ]
    assert [row["sent"].microsecond for row in rows] == [410_000, 12_000, 13_000]


def test_a_request_that_no_broker_logged_is_kept(story: Mapping[str, DataFrame]) -> None:
    lost = story["requests"].where("controller_epoch = 7 and api = 'LEADER_AND_ISR'").collect()
    assert {(row["broker"], row["outcome"], row["received"]) for row in lost} == {
        (broker, NOT_LOGGED, None) for broker in (1, 2, 3)
    }


def test_a_correlation_id_is_used_again_on_the_next_connection(read: Callable[..., DataFrame]) -> None:
    asked = [RequestLines(TWO, ONE, ControllerEpoch(1), number) for number in (1, 2, 1)]
    log = "".join(
        at(second, line)
        for second, request in zip((0, 5, 20), asked, strict=True)
        for line in (request.handling_leader_and_isr(3), request.stopped_fetchers_of_leaders(1))
    )
    rows = asked_of(read(log)).orderBy("received").collect()
    assert [(row["correlation_id"], row["received"].second) for row in rows] == [(1, 0), (2, 5), (1, 20)]
    assert {row["controller_epoch"] for row in rows} == {1}


def test_one_correlation_id_days_apart_is_of_two_requests(read: Callable[..., DataFrame]) -> None:
    request = RequestLines(TWO, ONE, ControllerEpoch(1), 1)
    log = "".join(
        line.entry(f"2026-11-{day} 10:00:{second:02},000")
        for day in (21, 25)
        for second, line in (
            (0, request.handling_leader_and_isr(3)),
            (2, request.stopped_fetchers_of_leaders(1)),
        )
    )
    rows = asked_of(read(log)).orderBy("received").collect()
    assert [(row["received"].day, row["duration_ms"]) for row in rows] == [(21, 2_000), (25, 2_000)]


def test_pairs_that_differ_in_size_are_not_paired(read: Callable[..., DataFrame]) -> None:
    sent = at(0, ControllerLines(ONE, ControllerEpoch(1)).sending_leader_and_isr_batch(TWO, 1, 1))
    request = RequestLines(TWO, ONE, ControllerEpoch(1), 9)
    received = at(1, request.handling_leader_and_isr(7)) + at(1, request.stopped_fetchers_of_leaders(7))
    rows = asked_of(read(sent, received)).collect()
    assert sorted((row["partitions"], row["outcome"]) for row in rows) == [(2, NOT_LOGGED), (7, OBEYED)]


def test_a_stale_controller_is_refused(read: Callable[..., DataFrame]) -> None:
    refusal = RequestLines(TWO, ONE, ControllerEpoch(1), 9).stale_leader_and_isr(ControllerEpoch(2))
    (row,) = asked_of(read(at(0, refusal))).collect()
    assert (row["outcome"], row["api"], row["controller_epoch"]) == (REFUSED, "LEADER_AND_ISR", 1)
