"""Names of the things a cluster is made of."""

from __future__ import annotations

from typing import NamedTuple, NewType

BrokerId = NewType("BrokerId", int)
"""A broker's number, unique in the cluster. Ours start at 1: some of Kafka's tools refuse 0."""

NO_LEADER = BrokerId(-1)
"""The leader of a partition that has none (Kafka: ``LeaderAndIsr.NoLeader``)."""

LEADER_DURING_DELETE = BrokerId(-2)
"""The leader that UpdateMetadata names for a partition of a topic being deleted (``LeaderDuringDelete``)."""

Offset = NewType("Offset", int)
"""A position in a partition's log: the number of a record, counted from 0."""

ProducerId = NewType("ProducerId", int)
"""The identity of an idempotent producer; -1 means none."""


class TopicPartition(NamedTuple):
    """One partition of one topic; prints as Kafka prints it, ``topic-partition``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"
