"""Commands that admin handlers send to the controller, and their results.

Handlers never write to ZooKeeper. They submit a command through a ``ControllerPort``, which puts it into the
controller's mailbox: directly on the controller's own broker, over gRPC from the others.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command."""


R = TypeVar("R", bound=CommandResult)


@dataclass(frozen=True, slots=True)
class Command(Generic[R]):
    """A request to the controller; ``R`` is the type of its result."""


@dataclass(frozen=True, slots=True)
class Refused(CommandResult):
    """The refusal of a command, with ``NOT_CONTROLLER`` if this broker is not, or no longer, the controller.

    (For a ``ControlledShutdown`` that is ``STALE_CONTROLLER_EPOCH``.) The error is ``UNKNOWN_SERVER_ERROR``
    if the command failed with an unexpected exception.
    """

    error: ErrorCode
    message: str


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


class ControllerPort(Protocol):
    """The interface to the controller, which is the same on the controller's own broker and on others."""

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Submit ``command`` to the controller and wait for its result.

        The result arrives when the command has been written to ZooKeeper. It is ``Refused`` with
        ``NOT_CONTROLLER`` or ``REQUEST_TIMED_OUT`` otherwise (after a timeout the command may still be
        carried out).
        """
        ...
