"""What ``kafka-topics.sh --describe`` prints, and which partitions its reports leave.

Layout and rules are those of ``TopicDescription``, ``PartitionDescription``, ``DescribeOptions`` in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

MIN_ISR = "min.insync.replicas"


@dataclass(frozen=True, slots=True)
class TopicConfigs:
    """The settings of a topic.

    Attributes:
        overrides: Those that are no defaults.
        min_isr: ``min.insync.replicas``, whoever set it.
    """

    overrides: Mapping[str, str] = field(default_factory=dict)
    min_isr: int = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A reassignment that runs.

    Attributes:
        replicas: The brokers that the partition is on now, those that come and those that go included.
        adding: Those that come.
        removing: Those that go.
    """

    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """What a description needs to know beside topics and settings.

    Attributes:
        live: The live brokers.
        moving: The reassignments that run, by topic and partition.
    """

    live: Collection[int] = ()
    moving: Mapping[tuple[str, int], Reassignment] = field(default_factory=dict)


Report = Callable[[Any, int, TopicConfigs, Collection[int]], bool]
"""Whether a partition is shown: its metadata and replication factor, its topic's settings, live brokers."""


def _has_leader(partition: Any) -> bool:
    return bool(partition.leader >= 0)


REPORTS: Mapping[str, Report] = {
    "under-replicated-partitions": lambda partition, factor, _configs, _live: len(partition.isrs) < factor,
    "under-min-isr-partitions": lambda partition, _factor, configs, _live: (
        not _has_leader(partition) or len(partition.isrs) < configs.min_isr
    ),
    "at-min-isr-partitions": lambda partition, _factor, configs, _live: (
        len(partition.isrs) == configs.min_isr
    ),
    "unavailable-partitions": lambda partition, _factor, _configs, live: (
        not _has_leader(partition) or partition.leader not in live
    ),
}
"""Each report by its flag."""


def replication_factor(partition: Any, moving: Reassignment | None) -> int:
    """How many replicas a partition has; while it is moved, those that come do not count.

    As in Kafka the reassignment counts only where the metadata, which were asked for before it, show it.
    """
    if moving is None or not {*moving.adding, *moving.removing} & set(partition.replicas):
        return len(partition.replicas)
    return len(set(moving.replicas) - set(moving.adding))


def brokers(ids: Iterable[int]) -> str:
    """Broker ids as the tool prints them."""
    return ",".join(map(str, ids))


def topic_line(topic: Any, configs: TopicConfigs, factor: int) -> str:
    """The line of a topic, a ``TopicMetadata``."""
    overrides = ",".join(f"{name}={value}" for name, value in configs.overrides.items())
    return (
        f"Topic: {topic.topic}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {overrides}"
    )


def partition_line(topic: str, partition: Any, moving: Reassignment | None = None) -> str:
    """The line of a partition, a ``PartitionMetadata``."""
    line = (
        f"\tTopic: {topic}\tPartition: {partition.id}"
        f"\tLeader: {partition.leader if _has_leader(partition) else 'none'}"
        f"\tReplicas: {brokers(partition.replicas)}\tIsr: {brokers(partition.isrs)}"
    )
    if moving is not None:
        line += f"\tAdding Replicas: {brokers(moving.adding)}\tRemoving Replicas: {brokers(moving.removing)}"
    return line


def describe_lines(
    topic: Any,
    configs: TopicConfigs,
    cluster: Cluster = Cluster(),
    *,
    report: str | None = None,
    only_overrides: bool = False,
) -> list[str]:
    """The lines of ``--describe`` for one topic.

    Args:
        topic: A ``TopicMetadata``.
        configs: Its settings.
        cluster: What else there is to know.
        report: One of `REPORTS`: only the partitions it shows, without the topic's own line.
        only_overrides: Only the topic's own line, and only where it has settings of its own.
    """
    partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
    moving = [cluster.moving.get((topic.topic, one.id)) for one in partitions]
    factors = [replication_factor(one, move) for one, move in zip(partitions, moving, strict=True)]
    lines = [partition_line(topic.topic, one, move) for one, move in zip(partitions, moving, strict=True)]
    if report is not None:
        shows = REPORTS[report]
        known = zip(partitions, factors, lines, strict=True)
        return [line for one, factor, line in known if shows(one, factor, configs, cluster.live)]
    own = topic_line(topic, configs, factors[0] if factors else 0)
    if only_overrides:
        return [own] if configs.overrides else []
    return [own, *lines]
