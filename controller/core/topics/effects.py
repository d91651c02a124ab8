"""Effects that read and write topics, marks of deletion and requested reassignments in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.protocol.effects import Ask, ControllerFence


@dataclass(frozen=True, slots=True)
class ReadTopics(Ask[frozenset[str]]):
    """The names of all topics; watches the list."""


@dataclass(frozen=True, slots=True)
class TopicRead:
    """The content of a topic's znode.

    Attributes:
        partitions: The replicas of each partition, by its number.
        identity: The topic's identity; None if it is unknown.
    """

    partitions: Mapping[int, Assignment]
    identity: TopicIdentity | None = None


NO_TOPIC = TopicRead({})
"""The knowledge about a topic without a znode."""


@dataclass(frozen=True, slots=True)
class ReadAssignments(Ask[Mapping[str, TopicRead]]):
    """The partitions of these topics; watches each. A topic without a node is not in the answer."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateTopic(Ask[bool]):
    """Write a topic's settings and its assignment; the answer is False where the topic is there already."""

    name: str
    assignments: Mapping[int, Assignment]
    configs: Mapping[str, str]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class ReadTopicDeletions(Ask[frozenset[str]]):
    """The topics marked in ``/admin/delete_topics``; watches the list."""


@dataclass(frozen=True, slots=True)
class MarkTopicDeletions(Ask[None]):
    """Mark these topics in ``/admin/delete_topics``; one that is marked already is no failure."""

    topics: tuple[str, ...]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class RemoveTopicDeletions(Ask[None]):
    """Take the marks of these topics away; one that is gone already is no failure."""

    topics: tuple[str, ...]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class DeleteTopic(Ask[None]):
    """Delete a topic's node with all below, its settings and its mark, and watch it no more.

    What is gone already is no failure, so that a successor can finish what a controller began.
    """

    topic: str
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class WriteAssignment(Ask[bool]):
    """Write the partitions of a topic; False where it does not hold ``before`` any more, or is gone.

    Attributes:
        topic: Which topic.
        before: Its partitions as read.
        after: Its partitions from now on.
        fence: The fence.
    """

    topic: str
    before: Mapping[int, Assignment]
    after: Mapping[int, Assignment]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class RequestedReassignments:
    """The content of ``/admin/reassign_partitions``.

    Attributes:
        targets: The replicas that each partition shall have; none where the content cannot be read.
        version: The data version under which it was read.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int


@dataclass(frozen=True, slots=True)
class ReadReassignments(Ask[RequestedReassignments | None]):
    """Read ``/admin/reassign_partitions`` and watch it; None where it is missing."""


@dataclass(frozen=True, slots=True)
class WriteReassignments(Ask[bool]):
    """Leave ``targets`` in ``/admin/reassign_partitions``, or delete it where there are none.

    The answer is False where it has another version by now.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int
    fence: ControllerFence
