"""The controller's door for commands: from handlers on its own broker, and through gRPC from the others."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any, cast

from barnabas.cluster.model.commands import Command, CommandResult, CreateTopics, R, Refused
from barnabas.cluster.model.commands_configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands_elections import ElectLeaders
from barnabas.cluster.model.commands_reassignment import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from barnabas.cluster.model.commands_shutdown import ControlledShutdown
from barnabas.cluster.model.commands_topics import CreatePartitions, DeleteTopics
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.effects import Reply, Token
from barnabas.controller.core.inputs import (
    AlterConfigsRequested,
    AlterPartitionReassignmentsRequested,
    CommandReceived,
    ControlledShutdownRequested,
    CreatePartitionsRequested,
    CreateTopicsRequested,
    DeleteTopicsRequested,
    Draw,
    ElectLeadersRequested,
    ListPartitionReassignmentsRequested,
)


class Service:
    """Puts commands into the mailbox and hands their replies back; a ``ControllerPort``.

    Args:
        put: Appends to the controller's mailbox.
        dice: Uniform in [0, 1), for the placement of replicas.
    """

    def __init__(
        self, put: Callable[[CommandReceived], None], dice: Callable[[], float] = random.random
    ) -> None:
        self._put = put
        self._dice = dice
        self._tokens = itertools.count(1)
        self._callers: dict[Token, asyncio.Future[CommandResult]] = {}

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Have the controller carry out ``command``; see ``ControllerPort``."""
        token = next(self._tokens)
        caller: asyncio.Future[CommandResult] = asyncio.get_running_loop().create_future()
        self._callers[token] = caller
        self._put(self._entry(token, command))
        try:
            async with asyncio.timeout(timeout_ms / 1000):
                return cast("R | Refused", await caller)
        except TimeoutError:
            message = f"The controller did not carry the command out within {timeout_ms} ms."
            return Refused(ErrorCode.REQUEST_TIMED_OUT, message)
        finally:
            del self._callers[token]

    def _entry(self, token: Token, command: Any) -> CommandReceived:
        match command:
            case CreateTopics(topics):
                return CreateTopicsRequested(token, command, self._draws(len(topics)))
            case ControlledShutdown():
                return ControlledShutdownRequested(token, command)
            case CreatePartitions():
                return CreatePartitionsRequested(token, command)
            case DeleteTopics():
                return DeleteTopicsRequested(token, command)
            case AlterConfigs() | IncrementalAlterConfigs():
                return AlterConfigsRequested(token, command)
            case ElectLeaders():
                return ElectLeadersRequested(token, command)
            case AlterPartitionReassignments():
                return AlterPartitionReassignmentsRequested(token, command)
            case ListPartitionReassignments():
                return ListPartitionReassignmentsRequested(token, command)
        raise TypeError(f"{command!r} is no command that the controller knows")

    def _draws(self, count: int) -> tuple[Draw, ...]:
        return tuple(Draw(self._dice(), self._dice()) for _ in range(count))

    def reply(self, reply: Reply) -> None:
        """Hand a result to whoever still waits for it."""
        caller = self._callers.get(reply.token)
        if caller is not None and not caller.done():
            caller.set_result(reply.result)
