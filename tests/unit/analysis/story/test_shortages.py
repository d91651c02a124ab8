"""Refused writes of partitions that were short of replicas."""

from __future__ import annotations

import pytest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.minimums import minimums_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import histories
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.shortages import short_periods, shortage_of
from tests.unit.analysis.story.rows import broker_line, state


def refusal(seconds: float, partition: int = 0, topic: str = "t") -> BrokerLine:
    return broker_line(seconds, BrokerKind.WRITES_REFUSED, topic=topic, partition=partition, minimum=2)


DURING = refusal(15)


@pytest.mark.parametrize(
    ("refusals", "expected"),
    [
        ((refusal(1), refusal(25), refusal(17), DURING), DURING),
        ((refusal(15, partition=1), refusal(15, topic="other")), None),
        ((refusal(1), refusal(30)), None),
        ((), None),
    ],
)
def test_the_first_refusal_of_a_partition_while_it_was_short_is_named(
    refusals: tuple[BrokerLine, ...], expected: BrokerLine | None
) -> None:
    """The clocks of brokers may differ by two seconds."""
    isrs = ((0, (1, 2)), (10, (1,)), (20, (1, 2)))
    states = [state(at, 1, 0, isr, version=number) for number, (at, isr) in enumerate(isrs)]
    (story,) = histories(Observed(states=states))
    minimums = minimums_of(Observed(brokers=refusals))
    assert shortage_of(short_periods(story), minimums).refusal == expected


def test_a_shortage_that_no_line_ends_may_be_followed_by_any_refusal() -> None:
    states = [state(0, 1, 0, (1, 2)), state(10, 1, 0, (1,), version=1)]
    (story,) = histories(Observed(states=states))
    late = refusal(10_000)
    assert shortage_of(short_periods(story), minimums_of(Observed(brokers=(late,)))).refusal == late
