"""Which settings --throttle makes and removes; Kafka's ReassignPartitionsUnitTest has the same shapes."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.reassignment.throttles import (
    Move,
    moves,
    throttled_replicas,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 10), TopicPartition("u", 0)
RUNNING = {T0: {"replicas": [4, 1, 2], "adding_replicas": [4], "removing_replicas": [1]}}


def test_what_moves_already_keeps_its_sources() -> None:
    assert moves(RUNNING, {T0: [2, 5], U0: [1, 3]}, {T0: (4, 1, 2), U0: (1, 2)}) == {
        T0: Move(frozenset({1, 2}), frozenset({5})),
        U0: Move(frozenset({1, 2}), frozenset({3})),
    }
    assert moves(RUNNING, {}, {}) == {T0: Move(frozenset({1, 2}), frozenset({4}))}


def test_the_replicas_of_a_topic_stand_in_the_order_of_text() -> None:
    moving = {
        T1: Move(frozenset({2, 1}), frozenset({3})),
        TopicPartition("t", 2): Move(frozenset({1}), frozenset()),
    }
    assert throttled_replicas(moving) == {"t": ("10:1,10:2,2:1", "10:3")}


replicas = st.lists(st.integers(0, 5), min_size=1, unique=True)


@given(st.dictionaries(st.sampled_from([T0, T1, U0]), st.tuples(replicas, replicas)))
def test_each_replica_is_a_source_or_comes(cases: dict[TopicPartition, tuple[list[int], list[int]]]) -> None:
    moving = moves({}, {tp: to for tp, (_, to) in cases.items()}, {tp: at for tp, (at, _) in cases.items()})
    told = throttled_replicas(moving)
    for tp, (at, to) in cases.items():
        leaders, followers = (text.split(",") for text in told[tp.topic])
        for broker in range(6):
            assert (f"{tp.partition}:{broker}" in leaders) == (broker in at)
            assert (f"{tp.partition}:{broker}" in followers) == (broker in to and broker not in at)
