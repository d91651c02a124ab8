"""Partitions by topic, as most answers name them."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.replicas.turn import paced
from barnabas.cluster.model.ids import TopicPartition


async def by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[TopicPartition]]:
    """``partitions`` by topic; topics and partitions in the order in which they come first."""
    found: dict[str, list[TopicPartition]] = {}
    async for partition in paced(partitions):
        found.setdefault(partition.topic, []).append(partition)
    return found
