"""Identifiers of brokers, partitions, offsets and producers."""

from __future__ import annotations

from typing import NamedTuple, NewType

from barnabas.cluster.model.epochs import Zxid

BrokerId = NewType("BrokerId", int)
"""A broker id, unique in the cluster. Our clusters start at 1, because some of Kafka's tools refuse 0."""

NO_LEADER = BrokerId(-1)
"""The leader of a partition without one (Kafka: ``LeaderAndIsr.NoLeader``)."""

LEADER_DURING_DELETE = BrokerId(-2)
"""The leader that UpdateMetadata names for a partition of a topic being deleted (``LeaderDuringDelete``)."""

Offset = NewType("Offset", int)
"""A position in a partition's log, counted in records from 0."""

ProducerId = NewType("ProducerId", int)
"""The id of an idempotent producer; -1 means none."""


class TopicPartition(NamedTuple):
    """A partition of a topic; ``str`` gives Kafka's spelling ``topic-partition``."""

    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


class TopicIdentity(NamedTuple):
    """The identity of a topic among former and later topics of its name, like a topic id (KIP-516).

    A topic's znode keeps its czxid as long as the topic lives, whichever release of Kafka runs the cluster.
    A second number identifies the tree of znodes: if an operator copies the znodes into another ZooKeeper,
    all czxids change although the topics are the same.

    Attributes:
        tree: The creation time of ``/brokers/topics`` by ZooKeeper's clock, in milliseconds since 1970. Its
            czxid does not suffice: a new ZooKeeper counts from 1, so the czxids of two trees may be equal.
        topic: The czxid of ``/brokers/topics/<topic>``.
    """

    tree: int
    topic: Zxid

    def denies(self, other: TopicIdentity) -> bool:
        """Return whether ``other`` is certainly another topic; identities of two trees cannot be compared."""
        return self.tree == other.tree and self.topic != other.topic

    def precedes(self, other: TopicIdentity) -> bool:
        """Return whether ``other`` is certainly a later topic, so that this one was deleted before.

        Two topics of one name never exist at the same time, and czxids only rise within a tree.
        """
        return self.tree == other.tree and self.topic < other.topic
