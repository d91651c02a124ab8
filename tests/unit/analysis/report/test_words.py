"""Sentences from rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from barnabas.analysis.derived.unavailability import LEADER_OFFLINE, NEVER_LED, NOTIFIED_ONLY
from barnabas.analysis.report.words import (
    UNBOUNDED,
    UNLED,
    Step,
    count,
    duration,
    headline,
    listed,
    span,
    steps,
)

Row = dict[str, Any]


@pytest.mark.parametrize(
    ("milliseconds", "said"),
    [
        (None, "an unknown time"), (0, "0 ms"), (999, "999 ms"), (-41, "-41 ms"), (4_383, "4.4 s"),
        (152_530, "2 min 33 s"), (59_980, "1 min 0 s"), (2_279_700, "38 min 0 s"),
        (3_599_999, "1 h 0 min"), (11_100_000, "3 h 5 min"), (200_000_000, "2.3 days"),
    ],
)  # fmt: skip
def test_a_span_as_a_person_says_it(milliseconds: float | None, said: str) -> None:
    assert duration(milliseconds) == said


def test_numbers_and_lists() -> None:
    assert [count(1, "partition"), count(1_200, "partition")] == ["1 partition", "1,200 partitions"]
    assert [listed(ids) for ids in (None, [], [1], [1, 2, 3])] == ["nobody", "nobody", "1", "1, 2 and 3"]
    assert span(None, None) is None


def test_why_writes_to_orders_3_stalled_at_03_12(stalls: tuple[Row, Row]) -> None:
    short, without = stalls
    assert headline(without) == (
        "orders-3 had no leader for at least 2 min 32 s and at most 2 min 39 s: no replica in sync was alive"
    )
    told = steps(without, stalls)
    assert [step.text for step in told] == [
        "only 1 of 3 replicas were in sync: brokers 2 and 3 fell out",
        "the last line of broker 1, its leader, before the controller noticed",
        "the controller noticed in controller epoch 8: no replica in sync was alive",
        "1 election failed; StateChangeFailedException: nobody </script><b>is</b> alive",
        "broker 1 was elected, leader epoch 2",
        "broker 1 began to lead",
    ]
    assert told[0].time == short["since"]


def test_a_stall_may_last(stalls: tuple[Row, Row]) -> None:
    short, without = stalls
    lasting = without | {"until": None, "elected": None, "led_at": None, "earliest": None, "failed": 0}
    assert headline(lasting) == "orders-3 had no leader as far as the logs show: no replica in sync was alive"
    assert steps(lasting)[-1].text == "no line shows a later election"
    assert steps(without | {"leader_after": None})[-1].text == "the topic was deleted"
    assert headline(short).startswith(
        "orders-3 had 1 of 3 replicas in sync as far as the logs show: brokers 2 and 3"
    )
    seen = short | {"sure_until": short["since"], "until": without["until"]}
    assert [step.time for step in steps(seen)] == [short["since"], short["since"], without["until"]]


def test_without_the_new_leader_s_log_nothing_bounds_a_stall_from_above(stalls: tuple[Row, Row]) -> None:
    _, without = stalls
    unseen = without | {"led_at": None, "until": without["elected"]}
    assert headline(unseen).startswith(f"orders-3 had no leader for at least 2 min 32 s ({UNLED}): ")
    assert steps(unseen)[-1] == Step(None, UNLED)


def test_an_isr_that_may_have_grown_unseen_is_told_as_a_bound(stalls: tuple[Row, Row]) -> None:
    short, _ = stalls
    since = short["since"]
    seen = short | {"sure_until": since + timedelta(seconds=2), "until": since + timedelta(seconds=5)}
    assert "in sync for at least 2.0 s and at most 5.0 s: " in headline(seen)
    assert "in sync for 5.0 s: " in headline(seen | {"sure_until": None})


def test_a_broker_s_line_is_no_notice_of_the_controller(stalls: tuple[Row, Row]) -> None:
    _, without = stalls
    told = without | {"earliest": None, "cause": NOTIFIED_ONLY, "controller_epoch": None, "failed": 0}
    assert steps(told)[0] == Step(without["since"], "a broker's first line that it has no leader")
    assert headline(told).startswith(f"orders-3 had no leader for at least 2 min 32 s ({UNBOUNDED}): ")


def test_without_the_lost_leader_s_log_there_is_no_bound(stalls: tuple[Row, Row]) -> None:
    _, without = stalls
    assert headline(without | {"earliest": None, "cause": LEADER_OFFLINE}) == (
        f"orders-3 had no leader for at least 2 min 32 s ({UNBOUNDED}): its leader went offline"
    )
    newborn = headline(without | {"earliest": None, "cause": NEVER_LED})
    assert newborn.startswith("orders-3 had no leader for 2 min 33 s: ")
