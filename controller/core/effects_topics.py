"""The effects by which topics get more partitions and come to their end."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.effects import Ask, Reign


@dataclass(frozen=True, slots=True)
class ReadTopicDeletions(Ask[frozenset[str]]):
    """The topics marked in ``/admin/delete_topics``; watches the list."""


@dataclass(frozen=True, slots=True)
class MarkTopicDeletions(Ask[None]):
    """Mark these topics in ``/admin/delete_topics``; one that is marked already is no failure."""

    topics: tuple[str, ...]
    reign: Reign


@dataclass(frozen=True, slots=True)
class RemoveTopicDeletions(Ask[None]):
    """Take the marks of these topics away; one that is gone already is no failure."""

    topics: tuple[str, ...]
    reign: Reign


@dataclass(frozen=True, slots=True)
class DeleteTopic(Ask[None]):
    """Delete a topic's node with all below, its settings and its mark, and watch it no more.

    What is gone already is no failure, so that a successor can finish what a controller began.
    """

    topic: str
    reign: Reign


@dataclass(frozen=True, slots=True)
class WriteAssignment(Ask[bool]):
    """Write the partitions of a topic; False where it does not hold ``before`` any more, or is gone.

    Attributes:
        topic: Which topic.
        before: Its partitions as read.
        after: Its partitions from now on.
        reign: In whose name.
    """

    topic: str
    before: Mapping[int, Assignment]
    after: Mapping[int, Assignment]
    reign: Reign
