"""Values are spelled as 2.8 spells them, and read back."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.statechange.values import FORMATS, is_readable, read_topic_partition, write_node

TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
IDS = st.lists(st.integers(0, 20), max_size=4).map(tuple)


def test_a_node_without_an_id_is_refused() -> None:
    with pytest.raises(ValueError, match="names no broker id: 'localhost'"):
        FORMATS["node"].read("localhost")


@given(TOPICS, st.integers(0, 9999))
def test_a_partition_is_split_at_its_last_hyphen(topic: str, partition: int) -> None:
    expected = TopicPartition(topic, partition)
    assert read_topic_partition(str(expected)) == expected


@pytest.mark.parametrize("name", ["ids", "id_array", "id_set"])
@given(ids=IDS)
def test_lists_of_ids_come_back(name: str, ids: tuple[int, ...]) -> None:
    value_format = FORMATS[name]
    text = value_format.write(ids)
    assert re.fullmatch(value_format.pattern, text)
    assert value_format.read(text) == ids


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("topic_partition", "[topic55,0]"),
        ("topic_partitions", "[a,0],[b-c,1]"),
        ("id_set", "ListSet(1, 2)"),
        ("node", "Node(3, 72331b6f5048, 9092)"),
        ("node", "5"),
        (
            "leader_and_isr",
            "LeaderAndIsr(leader=1, leaderEpoch=3, isrWithBrokerEpoch=List(BrokerState(brokerId=1)))",
        ),
        (
            "leader_and_isr_state",
            "(LeaderAndIsrInfo:(Leader:2,ISR:2,LeaderEpoch:8,ControllerEpoch:9),AllReplicas:2)",
        ),
    ],
)
def test_the_spelling_of_another_release_is_not_ours(name: str, text: str) -> None:
    assert not re.fullmatch(FORMATS[name].pattern, text)


def test_no_broker_at_all_is_an_empty_set_in_scala() -> None:
    assert FORMATS["id_set"].write(()) == "Set()"
    assert FORMATS["id_set"].write((1, 2)) == "HashSet(1, 2)"


def test_a_node_prints_the_listener_that_is_dialled() -> None:
    endpoints = (Endpoint("PLAINTEXT", "outside", 9092), Endpoint("GRPC", "inside", 19092))
    broker = Broker(BrokerId(2), BrokerEpoch(7), endpoints, rack="r1")
    assert write_node(broker) == "inside:19092 (id: 2 rack: r1)"
    assert write_node(broker, "PLAINTEXT") == "outside:9092 (id: 2 rack: r1)"
    assert write_node(broker, "SSL") == ":-1 (id: 2 rack: r1)"


def test_no_name_is_too_long_to_be_read_but_a_number_may_be() -> None:
    assert is_readable("9" * 249)
    assert is_readable(f"[Broker id={2**63}]")
    assert not is_readable("9" * 5000)
