"""Every spelling that Kafka has used for a value is read, and ours is written as 2.8 writes it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.model.brokers import Broker, Endpoint
from cluster.model.epochs import BrokerEpoch
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment
from cluster.model.statechange.values import FORMATS, is_readable, read_topic_partition, write_node

TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
IDS = st.lists(st.integers(0, 20), max_size=4).map(tuple)


@given(TOPICS, st.integers(0, 9999))
def test_a_partition_is_split_at_its_last_hyphen(topic: str, partition: int) -> None:
    expected = TopicPartition(topic, partition)
    assert read_topic_partition(str(expected)) == expected
    assert read_topic_partition(f"[{topic},{partition}]") == expected


@pytest.mark.parametrize("name", ["ids", "id_array", "id_set"])
@given(ids=IDS)
def test_lists_of_ids_come_back(name: str, ids: tuple[int, ...]) -> None:
    value_format = FORMATS[name]
    text = value_format.write(ids)
    assert re.fullmatch(value_format.pattern, text)
    assert value_format.read(text) == ids


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("id_set", "Set()", ()),
        ("id_set", "Set(1, 2)", (1, 2)),
        ("id_set", "HashSet(0, 1)", (0, 1)),
        ("id_array", "[1, 2]", (1, 2)),
        ("id_array", "[1,2]", (1, 2)),
        ("optional_id", "None", None),
        ("optional_id", "Some(-1)", -1),
        ("optional_text", "Some(2-3qO3o8RgetP5oocXJFcQ)", "2-3qO3o8RgetP5oocXJFcQ"),
        ("node", "broker-host:9092 (id: 0 rack: null)", 0),
        ("node", "Node(3, 72331b6f5048, 9092)", 3),
        ("node", "id:4,host:h,port:9092", 4),
        ("node", "5", 5),
        ("end_point", "BrokerEndPoint(id=2, host=salty-NUC8i7BEH:9094)", 2),
        ("topic_partition", "[topic55,0]", TopicPartition("topic55", 0)),
        ("topic_partitions", "a-0,b-c-1", (TopicPartition("a", 0), TopicPartition("b-c", 1))),
        ("topic_partitions", "[a,0],[b-c,1]", (TopicPartition("a", 0), TopicPartition("b-c", 1))),
        (
            "assignment",
            "ReplicaAssignment(replicas=1,2,3, addingReplicas=3, removingReplicas=)",
            Assignment((BrokerId(1), BrokerId(2), BrokerId(3)), (BrokerId(3),)),
        ),
        ("under_min_isr", "(under-min-isr)", True),
        ("under_min_isr", "", False),
    ],
)
def test_a_spelling_is_read(name: str, text: str, value: Any) -> None:
    assert re.fullmatch(FORMATS[name].pattern, text)
    assert FORMATS[name].read(text) == value


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
