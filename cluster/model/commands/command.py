"""A command to the controller, its result, and the port that takes it there.

Handlers never write to ZooKeeper. They submit a command through a ``ControllerPort``, which puts it into the
controller's mailbox: directly on the controller's own broker, over gRPC from the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from barnabas.cluster.model.errors import ErrorCode


@dataclass(frozen=True, slots=True)
class CommandResult:
    """The result of a command."""


R = TypeVar("R", bound=CommandResult)


@dataclass(frozen=True, slots=True)
class Command(Generic[R]):
    """A request to the controller; ``R`` is the type of its result."""


@dataclass(frozen=True, slots=True)
class Refused(CommandResult):
    """The refusal of a command.

    Attributes:
        error: ``NOT_CONTROLLER`` if this broker is not the controller, or no longer
            (``STALE_CONTROLLER_EPOCH`` for a ``ControlledShutdown``); ``UNKNOWN_SERVER_ERROR`` if the command
            failed with an unexpected exception.
        message: A sentence for people.
    """

    error: ErrorCode
    message: str


class ControllerPort(Protocol):
    """The interface to the controller, which is the same on the controller's own broker and on others."""

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Submit ``command`` to the controller and wait for its result.

        The result arrives when the command has been written to ZooKeeper. It is ``Refused`` with
        ``NOT_CONTROLLER`` or ``REQUEST_TIMED_OUT`` otherwise (after a timeout the command may still be
        carried out).
        """
        ...
