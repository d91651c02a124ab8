"""Every spelling that Kafka has used for a value is read."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.reading.releases.spellings import SPELLINGS, read_topic_partition
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment

TOPICS = st.from_regex(r"[A-Za-z0-9._-]{1,20}", fullmatch=True)
IDS = st.lists(st.integers(0, 20), max_size=4).map(tuple)


@given(TOPICS, st.integers(0, 9999))
def test_a_partition_is_split_at_its_last_hyphen(topic: str, partition: int) -> None:
    expected = TopicPartition(topic, partition)
    assert read_topic_partition(str(expected)) == expected
    assert read_topic_partition(f"[{topic},{partition}]") == expected


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("id_set", "Set()", ()),
        ("id_set", "Set(1, 2)", (1, 2)),
        ("id_set", "HashSet(0, 1)", (0, 1)),
        ("id_array", "[1, 2]", (1, 2)),
        ("id_array", "[1,2]", (1, 2)),
        ("previous_leader", "None", None),
        ("previous_leader", "Some(-1)", -1),
        ("topic_id", "Some(2-3qO3o8RgetP5oocXJFcQ)", "2-3qO3o8RgetP5oocXJFcQ"),
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
    assert re.fullmatch(SPELLINGS[name].pattern, text)
    assert SPELLINGS[name].read(text) == value
