"""The commands for existing topics: adding partitions, and deletion."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.commands import Command, CommandResult, TopicResult
from barnabas.cluster.model.ids import BrokerId


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """The number of partitions that a topic shall have.

    Attributes:
        topic: The topic's name.
        count: The total number of partitions, existing ones included.
        assignments: The replicas of each new partition in order, preferred leader first; None to let the
            controller place them.
    """

    topic: str
    count: int
    assignments: tuple[tuple[BrokerId, ...], ...] | None = None


@dataclass(frozen=True, slots=True)
class CreatePartitionsResult(CommandResult):
    """The results in the order of the request; ``partitions`` counts old and new ones."""

    topics: tuple[TopicResult, ...]


@dataclass(frozen=True, slots=True)
class CreatePartitions(Command[CreatePartitionsResult]):
    """The command to add partitions to topics; with ``validate_only`` nothing is written."""

    topics: tuple[NewPartitions, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class DeleteTopicsResult(CommandResult):
    """The results in the order of the request. No error means that the topic is marked for deletion."""

    topics: tuple[TopicResult, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopics(Command[DeleteTopicsResult]):
    """The command to delete topics."""

    topics: tuple[str, ...]
