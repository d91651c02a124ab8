"""Names of the things a cluster is made of."""

from __future__ import annotations

from typing import NamedTuple, NewType

from barnabas.cluster.model.epochs import Zxid

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


class TopicIdentity(NamedTuple):
    """What tells a topic from former and later topics of its name, as topic ids do (KIP-516).

    A topic's znode keeps its czxid as long as the topic lives, whichever release of Kafka runs the cluster.
    A second number says in which tree of znodes that was: where an operator has copied the znodes into
    another ZooKeeper, all czxids are others and the topics are the same.

    Attributes:
        tree: When ``/brokers/topics`` was created, by ZooKeeper's clock, in milliseconds since 1970. Its
            czxid would not do: a new ZooKeeper counts from 1, so those of two trees may be equal.
        topic: The czxid of ``/brokers/topics/<topic>``.
    """

    tree: int
    topic: Zxid

    def denies(self, other: TopicIdentity) -> bool:
        """Whether ``other`` is certainly another topic; identities of two trees cannot be compared."""
        return self.tree == other.tree and self.topic != other.topic
