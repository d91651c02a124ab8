from __future__ import annotations

from types import SimpleNamespace

import pytest

from barnabas.tools.topics.topic_descriptions import (
    Cluster,
    Reassignment,
    TopicConfigs,
    describe_lines,
    replication_factor,
)


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
        ("under-replicated-partitions", [1, 2, 3]),
        ("under-min-isr-partitions", [2, 3]),
        ("at-min-isr-partitions", [1]),
        ("unavailable-partitions", [3, 4]),
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
    lines = describe_lines(some, TopicConfigs(min_isr=2), Cluster({1, 2, 3}), report=report)
    assert [int(line.split("Partition: ")[1].split("\t")[0]) for line in lines] == shown


MOVING = Reassignment([4, 5, 1, 2, 3], [4, 5], [2, 3])


def moved(isrs: tuple[int, ...]) -> SimpleNamespace:
    return SimpleNamespace(id=0, leader=1, replicas=[4, 5, 1, 2, 3], isrs=list(isrs))


def test_a_partition_that_is_moved_shows_who_comes_and_who_goes() -> None:
    cluster = Cluster(moving={("orders", 0): MOVING, ("other", 1): MOVING})
    assert describe_lines(topic(moved((1, 2, 3)), partition(1)), TopicConfigs(), cluster) == [
        "Topic: orders\tPartitionCount: 2\tReplicationFactor: 3\tConfigs: ",
        (
            "\tTopic: orders\tPartition: 0\tLeader: 1\tReplicas: 4,5,1,2,3\tIsr: 1,2,3"
            "\tAdding Replicas: 4,5\tRemoving Replicas: 2,3"
        ),
        "\tTopic: orders\tPartition: 1\tLeader: 1\tReplicas: 1,2,3\tIsr: 3,1",
    ]


def test_replicas_that_are_to_come_do_not_make_a_partition_under_replicated() -> None:
    cluster = Cluster(moving={("orders", 0): MOVING})

    def shown(isrs: tuple[int, ...]) -> int:
        some = topic(moved(isrs))
        return len(describe_lines(some, TopicConfigs(), cluster, report="under-replicated-partitions"))

    assert shown((1, 2, 3)) == 0
    assert shown((1, 2)) == 1


def test_a_reassignment_that_the_metadata_do_not_show_does_not_count() -> None:
    assert replication_factor(partition(0), Reassignment([9, 8], [9, 8], [])) == 3
