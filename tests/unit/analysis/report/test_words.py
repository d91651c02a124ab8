"""Sentences from rows."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest

from barnabas.analysis.derived.unavailability import LEADER_OFFLINE, NEVER_LED
from barnabas.analysis.report.words import (
    UNBOUNDED,
    UNLED,
    Step,
    count,
    duration,
    failover_headline,
    failover_steps,
    failover_total,
    headline,
    listed,
    span,
    steps,
    timed,
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
        "the last line of broker 1, its leader, before it was lost",
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


def test_a_failover_in_sentences(failover: Row) -> None:
    assert failover_headline(failover) == "Broker 1, the controller and leader of 2 partitions, was lost"
    assert [step.text for step in failover_steps(failover)] == [
        "the last line of broker 1 before it was lost",
        "broker 2 became controller, epoch 8",
        "the controller noticed: 2 partitions had no leader",
        "1 partition moved to broker 2",
        "the first LeaderAndIsr was sent",
        "the last new leader led",
        "the last of their followers followed, by a clock that is behind",
        "1 partition waited for broker 1 to come back",
    ]
    assert failover_steps(failover | {"waited": 0, "stranded": 1})[-1] == Step(
        None, "1 partition found no leader"
    )


def test_the_last_to_follow_and_the_last_to_lead_come_in_their_order(failover: Row) -> None:
    soon = failover["sent"] + timedelta(milliseconds=10)
    told = failover_steps(failover | {"followed": soon, "followed_behind": False})
    assert [step.text for step in told[-3:-1]] == [
        "the last of their followers followed",
        "the last new leader led",
    ]
    assert all(step.after is None or step.after >= 0 for step in timed(told))


def test_how_long_a_failover_took_is_a_bound(failover: Row) -> None:
    assert failover_total(failover) == "40 ms from the notice to the last new leader, at most 6.1 s in all"
    unseen = failover | {"led_unseen": 1, "total_ms": None}
    assert failover_total(unseen) == (
        f"at least 40 ms from the notice to the last new leader ({UNLED}: 1 partition)"
    )
    assert "the last new leader led that a line shows" in [step.text for step in failover_steps(unseen)]
    unlogged = failover | {"last_logged": None, "total_ms": None}
    assert failover_total(unlogged) == f"40 ms from the notice to the last new leader ({UNBOUNDED})"
    assert failover_total(failover | {"led": None}) == ""


def test_without_the_lost_leader_s_log_there_is_no_bound(stalls: tuple[Row, Row]) -> None:
    _, without = stalls
    assert headline(without | {"earliest": None, "cause": LEADER_OFFLINE}) == (
        f"orders-3 had no leader for at least 2 min 32 s ({UNBOUNDED}): its leader went offline"
    )
    newborn = headline(without | {"earliest": None, "cause": NEVER_LED})
    assert newborn.startswith("orders-3 had no leader for 2 min 33 s: ")


def test_a_step_long_before_the_one_before_it_has_no_duration(failover: Row) -> None:
    told = timed(
        failover_steps(failover | {"last_logged": failover["controller_since"] + timedelta(days=334)})
    )
    assert told[1].after is None
    assert told[1].text.endswith(
        "epoch 8; the clocks contradict each other, or the logs are of different clusters"
    )
    assert told[2].after == 10


def test_a_controller_that_led_nothing_was_not_lost_for_all_we_know(failover: Row) -> None:
    alone = failover | {
        "partitions": 0,
        "moved": 0,
        "waited": 0,
        "stranded": 0,
        "elected": None,
        "sent": None,
    }
    alone |= {"led": None, "followed": None}
    assert failover_headline(alone) == "Broker 2 took over from broker 1 as controller"
    assert failover_headline(alone | {"broker": 2}) == "Broker 2 was elected controller again"
    assert [step.text for step in failover_steps(alone)] == [
        "broker 1 acted as controller for the last time",
        "broker 2 became controller, epoch 8",
    ]
