"""The commands that create, extend and delete topics, and their results."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.cluster.model.commands.command import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId

MAX_PARTITIONS = 10_000
"""The most partitions of one topic: its assignment is one znode and must fit into ``jute.maxbuffer``.

A hostile request for more would block the broker for seconds. (Kafka's KRaft controller has the same
limit.)
"""


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    Attributes:
        name: The topic's name.
        partitions: The number of partitions; -1 for ``num.partitions``, and if ``assignments`` is given.
        replication_factor: The number of replicas of each partition; -1 for ``default.replication.factor``.
        assignments: A manual assignment, from partition numbers to replicas, preferred leader first.
        configs: Topic settings that differ from the defaults.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: dict[int, tuple[BrokerId, ...]] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicResult:
    """The result for one topic of a command.

    Attributes:
        error: ``NONE`` if the topic was written (its leaders may not be elected yet).
        message: A sentence that names the thing, the value and what was expected; None without error.
        partitions: The number of partitions created, -1 on error.
        replication_factor: The replicas of each, -1 on error.
    """

    name: str
    error: ErrorCode
    message: str | None = None
    partitions: int = -1
    replication_factor: int = -1


@dataclass(frozen=True, slots=True)
class CreateTopicsResult(CommandResult):
    """The results in the order of the request."""

    topics: tuple[TopicResult, ...]


@dataclass(frozen=True, slots=True)
class CreateTopics(Command[CreateTopicsResult]):
    """The command to create topics; with ``validate_only`` they are checked and nothing is written."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


@dataclass(frozen=True, slots=True)
class NewPartitions:
    """A request to raise the number of a topic's partitions.

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
