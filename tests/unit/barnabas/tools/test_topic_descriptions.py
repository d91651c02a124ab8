from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.tools.topic_descriptions import TopicConfigs, describe_lines


def partition(number: int, leader: int = 1, isrs: tuple[int, ...] = (3, 1)) -> SimpleNamespace:
    return SimpleNamespace(id=number, leader=leader, replicas=[1, 2, 3], isrs=list(isrs))


def topic(*partitions: SimpleNamespace) -> SimpleNamespace:
    return SimpleNamespace(topic="orders", partitions={one.id: one for one in partitions})


def test_describe_has_kafkas_layout() -> None:
    configs = TopicConfigs({"min.insync.replicas": "2", "segment.bytes": "100"}, 2)
    assert describe_lines(topic(partition(1, -1), partition(0, 3)), configs) == [
        (
            "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3\t"
            "Configs: min.insync.replicas=2,segment.bytes=100"
        ),
        "\tTopic: orders\tPartition: 0\tLeader: 3\tReplicas: 1,2,3\tIsr: 3,1",
        "\tTopic: orders\tPartition: 1\tLeader: none\tReplicas: 1,2,3\tIsr: 3,1",
    ]


def test_only_topics_with_settings_of_their_own() -> None:
    some = topic(partition(0))
    assert describe_lines(some, TopicConfigs(), only_overrides=True) == []
    (line,) = describe_lines(some, TopicConfigs({"a": "b"}), only_overrides=True)
    assert line.endswith("Configs: a=b")


@pytest.mark.parametrize(
    ("report", "shown"),
    [
        ("under_replicated_partitions", [1, 2, 3]),
        ("under_min_isr_partitions", [2, 3]),
        ("at_min_isr_partitions", [1]),
        ("unavailable_partitions", [3, 4]),
    ],
)
def test_a_report_shows_some_partitions_without_their_topic(report: str, shown: list[int]) -> None:
    some = topic(
        partition(0, 1, (1, 2, 3)),
        partition(1, 1, (1, 2)),
        partition(2, 1, (1,)),
        partition(3, -1, (2,)),
        partition(4, 9, (1, 2, 3)),
    )
    lines = describe_lines(some, TopicConfigs(min_isr=2), report=report, live={1, 2, 3})
    assert [int(line.split("Partition: ")[1].split("\t")[0]) for line in lines] == shown
