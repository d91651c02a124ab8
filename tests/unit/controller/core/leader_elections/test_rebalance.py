from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.controller.core.leader_elections.rebalance import Led, find_imbalances, is_any_reassigned

BROKERS = [BrokerId(number) for number in range(1, 5)]
replica_lists = st.permutations(BROKERS).flatmap(
    lambda order: st.integers(0, 4).map(lambda size: tuple(order[:size]))
)


@st.composite
def clusters(draw: st.DrawFn) -> list[Led]:
    led = []
    for number in range(draw(st.integers(0, 12))):
        replicas = draw(replica_lists)
        isr = tuple(r for r in replicas if draw(st.booleans()))
        leader = draw(st.sampled_from([*replicas, NO_LEADER]))
        known = draw(st.sampled_from([LeaderAndIsr(leader, LeaderEpoch(1), isr), None]))
        led.append(Led(TopicPartition("t", number), Assignment(replicas), known))
    return led


@given(clusters(), st.integers(0, 110), st.sets(st.sampled_from(BROKERS)))
def test_against_a_slow_twin(led: list[Led], percentage: int, live: set[BrokerId]) -> None:
    """The twin goes over all partitions for each broker, and divides as Kafka does, but exactly."""
    expected = []
    for broker in BROKERS:
        mine = [one for one in led if one.assignment.replicas and one.assignment.replicas[0] == broker]
        astray = [one for one in mine if one.leadership is not None and one.leadership.leader != broker]
        if mine and Fraction(len(astray), len(mine)) > Fraction(percentage, 100):
            able = [a for a in astray if a.leadership and broker in a.leadership.isr and broker in live]
            expected.append((broker, len(mine), [a.partition for a in astray], [a.partition for a in able]))
    found = find_imbalances(led, percentage, lambda broker, _: broker in live)
    assert [(f.broker_id, f.preferred, list(f.imbalanced), list(f.candidates)) for f in found] == expected


def test_the_percentage_itself_is_tolerated() -> None:
    one, two = BROKERS[:2]
    led = [
        Led(
            TopicPartition("t", number),
            Assignment((one, two)),
            LeaderAndIsr(two if number == 0 else one, LeaderEpoch(0), (one, two)),
        )
        for number in range(10)
    ]
    assert find_imbalances(led, 10, lambda *_: True) == []
    assert len(find_imbalances(led, 9, lambda *_: True)) == 1


@pytest.mark.parametrize(
    ("adding", "removing", "expected"), [((), (), False), ((2,), (), True), ((), (1,), True)]
)
def test_a_reassignment_anywhere_counts(
    adding: tuple[BrokerId, ...], removing: tuple[BrokerId, ...], expected: bool
) -> None:
    quiet = Assignment((BrokerId(1), BrokerId(2)))
    moving = Assignment((BrokerId(1), BrokerId(2)), adding, removing)
    assert is_any_reassigned({"t": {0: quiet}, "u": {0: quiet, 1: moving}}) is expected
    assert not is_any_reassigned({})
