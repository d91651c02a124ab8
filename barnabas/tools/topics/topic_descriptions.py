"""The lines of ``kafka-topics.sh --describe``, and the reports that show only some partitions.

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
        overrides: The settings that differ from the defaults.
        min_isr: ``min.insync.replicas`` of the topic, its broker or Kafka's default.
    """

    overrides: Mapping[str, str] = field(default_factory=dict)
    min_isr: int = 1


@dataclass(frozen=True, slots=True)
class Reassignment:
    """A running reassignment.

    Attributes:
        replicas: All replicas, including those being added or removed.
        adding: The replicas being added.
        removing: The replicas being removed.
    """

    replicas: Sequence[int]
    adding: Sequence[int]
    removing: Sequence[int]


@dataclass(frozen=True, slots=True)
class Cluster:
    """The state of the cluster that a description needs beside topics and settings.

    Attributes:
        live: The live brokers.
        moving: The running reassignments, by topic and partition.
    """

    live: Collection[int] = ()
    moving: Mapping[tuple[str, int], Reassignment] = field(default_factory=dict)


Report = Callable[[Any, int, TopicConfigs, Collection[int]], bool]
"""The rule by which a report shows a partition.

It takes the partition's metadata and replication factor, its topic's settings and the live brokers.
"""


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
"""The reports, by the names of their options."""


def replication_factor(partition: Any, moving: Reassignment | None) -> int:
    """Return the number of a partition's replicas, without those being added.

    The metadata were requested before the reassignments. As in Kafka, a reassignment that the metadata do not
    show yet is ignored.
    """
    if moving is None or not {*moving.adding, *moving.removing} & set(partition.replicas):
        return len(partition.replicas)
    return len(set(moving.replicas) - set(moving.adding))


def brokers(ids: Iterable[int]) -> str:
    """Return broker ids as the tool prints them."""
    return ",".join(map(str, ids))


def topic_line(topic: Any, configs: TopicConfigs, factor: int) -> str:
    """Return the line of a topic, given as a ``TopicMetadata``."""
    overrides = ",".join(f"{name}={value}" for name, value in configs.overrides.items())
    return (
        f"Topic: {topic.topic}\tPartitionCount: {len(topic.partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {overrides}"
    )


def partition_line(topic: str, partition: Any, moving: Reassignment | None = None) -> str:
    """Return the line of a partition, given as a ``PartitionMetadata``."""
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
    """Return the lines of ``--describe`` for one topic.

    Args:
        topic: A ``TopicMetadata``.
        configs: The topic's settings.
        cluster: The live brokers and running reassignments.
        report: One of `REPORTS`, which returns only the partitions that it shows, without the topic's line.
        only_overrides: Whether to return only the topic's line, and that only if it overrides a setting.
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
