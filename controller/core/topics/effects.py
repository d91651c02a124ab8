"""Effects that read and write topics, marks of deletion and requested reassignments in ZooKeeper."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.protocol.effects import Ask, ControllerFence


@dataclass(frozen=True, slots=True)
class ReadTopics(Ask[frozenset[str]]):
    """Read the names of all topics; watch the list."""


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
"""The content of a topic's znode that is missing."""


@dataclass(frozen=True, slots=True)
class ReadAssignments(Ask[Mapping[str, TopicRead]]):
    """Read the partitions of these topics; watch each. A topic without a node is not in the answer."""

    topics: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CreateTopic(Ask[bool]):
    """Write a topic's settings and assignment; the answer is False if the topic exists already."""

    name: str
    assignments: Mapping[int, Assignment]
    configs: Mapping[str, str]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class ReadTopicDeletions(Ask[frozenset[str]]):
    """Read the topics marked in ``/admin/delete_topics``; watch the list."""


@dataclass(frozen=True, slots=True)
class MarkTopicDeletions(Ask[None]):
    """Mark these topics in ``/admin/delete_topics``; one that is marked already is no failure."""

    topics: tuple[str, ...]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class RemoveTopicDeletions(Ask[None]):
    """Remove the marks of these topics; a missing one is no failure."""

    topics: tuple[str, ...]
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class DeleteTopic(Ask[None]):
    """Delete a topic's node with its children, its settings and its mark, and stop watching it.

    Missing nodes are no failure, so that the next controller can finish a deletion.
    """

    topic: str
    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class WriteAssignment(Ask[bool]):
    """Write the partitions of a topic; the answer is False if the node is not ``before`` any more.

    Attributes:
        topic: The topic.
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
        targets: The requested replicas of each partition; empty if the content cannot be decoded.
        version: The data version of the node.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int


@dataclass(frozen=True, slots=True)
class ReadReassignments(Ask[RequestedReassignments | None]):
    """Read ``/admin/reassign_partitions`` and watch it; the answer is None if it is missing."""


@dataclass(frozen=True, slots=True)
class WriteReassignments(Ask[bool]):
    """Write ``targets`` to ``/admin/reassign_partitions``, or delete it if they are empty.

    The answer is False if the node has another version by now.
    """

    targets: Mapping[TopicPartition, tuple[BrokerId, ...]]
    version: int
    fence: ControllerFence
