"""Which settings --throttle makes and removes; Kafka's ReassignPartitionsUnitTest has the same shapes."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.commands.configs import ConfigAlteration, ConfigOperation, ConfigResource
from barnabas.cluster.model.ids import TopicPartition
from barnabas.tools.command_line.parser import ToolError
from barnabas.tools.reassignment.throttles import (
    LOG_DIR_RATE,
    RATES,
    REPLICAS,
    Move,
    clear_brokers,
    clear_topics,
    moves,
    throttle,
    throttled_replicas,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 10), TopicPartition("u", 0)
RUNNING = {T0: {"replicas": [4, 1, 2], "adding_replicas": [4], "removing_replicas": [1]}}


class Client:
    """Takes down what is altered."""

    def __init__(self) -> None:
        self.altered: dict[str, dict[str, str | None]] = {}

    def alter_incrementally(self, resource: ConfigResource, steps: Iterable[ConfigAlteration]) -> None:
        self.altered[str(resource)] = {
            step.name: None if step.operation is ConfigOperation.DELETE else step.value for step in steps
        }


def test_what_moves_already_keeps_its_sources() -> None:
    assert moves(RUNNING, {T0: [2, 5], U0: [1, 3]}, {T0: (4, 1, 2), U0: (1, 2)}) == {
        T0: Move(frozenset({1, 2}), frozenset({5})),
        U0: Move(frozenset({1, 2}), frozenset({3})),
    }
    assert moves(RUNNING, {}, {}) == {T0: Move(frozenset({1, 2}), frozenset({4}))}


def test_a_partition_that_is_nowhere_cannot_be_moved() -> None:
    with pytest.raises(ToolError, match="Trying to reassign a topic partition u-0 with 0 replicas"):
        moves({}, {U0: [1]}, {})


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


def test_a_throttle_is_set_for_topics_and_for_the_brokers_that_take_part() -> None:
    client = Client()
    throttle(client, {U0: Move(frozenset({2}), frozenset({1}))}, 500)
    rates = dict.fromkeys(RATES, "500")
    assert client.altered == {
        "ConfigResource(type=TOPIC, name='u')": dict(zip(REPLICAS, ("0:2", "0:1"), strict=True)),
        "ConfigResource(type=BROKER, name='1')": rates,
        "ConfigResource(type=BROKER, name='2')": rates,
    }


def test_a_throttle_is_removed() -> None:
    client = Client()
    clear_brokers(client, {2})
    clear_topics(client, {"u"})
    assert client.altered == {
        "ConfigResource(type=BROKER, name='2')": dict.fromkeys([*RATES, LOG_DIR_RATE]),
        "ConfigResource(type=TOPIC, name='u')": dict.fromkeys(REPLICAS),
    }
