"""What an admin handler asks of the controller, and what it is told.

Handlers never write ZooKeeper: they hand one of these to the controller's mailbox through a
``ControllerPort``, on the controller's own broker directly, from the others over gRPC.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId


@dataclass(frozen=True, slots=True)
class CommandResult:
    """What became of a command."""


R = TypeVar("R", bound=CommandResult)


@dataclass(frozen=True, slots=True)
class Command(Generic[R]):
    """Something asked of the controller; ``R`` is what its caller is told."""


@dataclass(frozen=True, slots=True)
class Refused(CommandResult):
    """Not taken: ``NOT_CONTROLLER`` where this broker is not, or no longer, the controller.

    (To a ``ControlledShutdown`` that is ``STALE_CONTROLLER_EPOCH``.)
    ``UNKNOWN_SERVER_ERROR`` where it failed on the way, for a reason that nobody foresaw.
    """

    error: ErrorCode
    message: str


@dataclass(frozen=True, slots=True)
class NewTopic:
    """A topic to create.

    Attributes:
        name: Its name.
        partitions: How many, or -1 for ``num.partitions``; -1 too where ``assignments`` is given.
        replication_factor: How many replicas each, or -1 for ``default.replication.factor``.
        assignments: By hand: partition number to its replicas, preferred leader first.
        configs: Topic settings that differ from the defaults.
    """

    name: str
    partitions: int = -1
    replication_factor: int = -1
    assignments: dict[int, tuple[BrokerId, ...]] = field(default_factory=dict)
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class TopicResult:
    """What became of one topic of a command.

    Attributes:
        error: ``NONE`` where it was written (the leaders may not be elected yet).
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
    """Create these topics; with ``validate_only`` check them and write nothing."""

    topics: tuple[NewTopic, ...]
    validate_only: bool = False


class ControllerPort(Protocol):
    """The door to the controller: the same for a handler on its own broker and for one on another."""

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Have the controller carry out ``command``.

        Returns when it has been written to ZooKeeper, or ``Refused`` with ``NOT_CONTROLLER`` or
        ``REQUEST_TIMED_OUT`` (it may still be carried out then).
        """
        ...
