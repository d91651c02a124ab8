"""Commands about topics that there are: more partitions for them, and their end."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.commands import Command, CommandResult, TopicResult
from barnabas.cluster.model.ids import BrokerId


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """How many partitions a topic is to have.

    Attributes:
        topic: Its name.
        count: The number of its partitions in the end, those it has included.
        assignments: By hand: the replicas of each new partition in order, preferred leader first; None where
            the controller is to place them.
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
    """Give these topics more partitions; with ``validate_only`` check them and write nothing."""

    topics: tuple[NewPartitions, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class DeleteTopicsResult(CommandResult):
    """The results in the order of the request; no error means marked, the deletion goes on by itself."""

    topics: tuple[TopicResult, ...]


@dataclass(frozen=True, slots=True)
class DeleteTopics(Command[DeleteTopicsResult]):
    """Delete the topics of these names."""

    topics: tuple[str, ...]
