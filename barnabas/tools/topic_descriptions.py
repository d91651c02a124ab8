"""What ``kafka-topics.sh --describe`` prints, and which partitions its reports leave.

Layout and rules are those of ``TopicDescription``, ``PartitionDescription``, ``DescribeOptions`` in Kafka.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
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


Report = Callable[[Any, TopicConfigs, Collection[int]], bool]
"""Whether a partition is shown, from its metadata, its topic's settings and the live brokers."""


def _has_leader(partition: Any) -> bool:
    return bool(partition.leader >= 0)


REPORTS: Mapping[str, Report] = {
    "under_replicated_partitions": lambda partition, _configs, _live: (
        len(partition.isrs) < len(partition.replicas)
    ),
    "under_min_isr_partitions": lambda partition, configs, _live: (
        not _has_leader(partition) or len(partition.isrs) < configs.min_isr
    ),
    "at_min_isr_partitions": lambda partition, configs, _live: len(partition.isrs) == configs.min_isr,
    "unavailable_partitions": lambda partition, _configs, live: (
        not _has_leader(partition) or partition.leader not in live
    ),
}
"""Each report by its flag."""


def brokers(ids: Iterable[int]) -> str:
    """Broker ids as the tool prints them."""
    return ",".join(map(str, ids))


def topic_line(topic: Any, configs: TopicConfigs) -> str:
    """The line of a topic, a ``confluent_kafka.admin.TopicMetadata``."""
    partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
    factor = len(partitions[0].replicas) if partitions else 0
    overrides = ",".join(f"{name}={value}" for name, value in configs.overrides.items())
    return (
        f"Topic: {topic.topic}\tPartitionCount: {len(partitions)}"
        f"\tReplicationFactor: {factor}\tConfigs: {overrides}"
    )


def partition_line(topic: str, partition: Any) -> str:
    """The line of a partition, a ``confluent_kafka.admin.PartitionMetadata``."""
    return (
        f"\tTopic: {topic}\tPartition: {partition.id}"
        f"\tLeader: {partition.leader if _has_leader(partition) else 'none'}"
        f"\tReplicas: {brokers(partition.replicas)}\tIsr: {brokers(partition.isrs)}"
    )


def describe_lines(
    topic: Any,
    configs: TopicConfigs,
    *,
    report: str | None = None,
    live: Collection[int] = (),
    only_overrides: bool = False,
) -> list[str]:
    """The lines of ``--describe`` for one topic.

    Args:
        topic: A ``confluent_kafka.admin.TopicMetadata``.
        configs: Its settings.
        report: One of `REPORTS`: only the partitions it shows, without the topic's own line.
        live: The live brokers.
        only_overrides: Only the topic's own line, and only where it has settings of its own.
    """
    partitions = [topic.partitions[number] for number in sorted(topic.partitions)]
    if report is not None:
        shows = REPORTS[report]
        return [partition_line(topic.topic, one) for one in partitions if shows(one, configs, live)]
    if only_overrides:
        return [topic_line(topic, configs)] if configs.overrides else []
    return [topic_line(topic, configs), *(partition_line(topic.topic, one) for one in partitions)]
