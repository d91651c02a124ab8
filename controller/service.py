"""The controller's port for commands, from handlers on its own broker and through gRPC from others."""

from __future__ import annotations

import asyncio
import itertools
import random
from collections.abc import Callable
from typing import Any, cast

from barnabas.cluster.model.commands.command import Command, CommandResult, R, Refused
from barnabas.cluster.model.commands.topics import CreateTopics
from barnabas.cluster.model.errors import ErrorCode
from barnabas.controller.core.protocol.effects import Reply, Token
from barnabas.controller.core.protocol.inputs import CommandReceived, Draw


class Service:
    """The ``ControllerPort`` that puts commands into the mailbox and passes their replies back.

    Args:
        put: Appends an input to the controller's mailbox.
        dice: Returns numbers uniform in [0, 1) for the placement of replicas.
    """

    def __init__(
        self, put: Callable[[CommandReceived[Any]], None], dice: Callable[[], float] = random.random
    ) -> None:
        self._put = put
        self._dice = dice
        self._tokens = itertools.count(1)
        self._callers: dict[Token, asyncio.Future[CommandResult]] = {}

    async def submit(self, command: Command[R], timeout_ms: int) -> R | Refused:
        """Put ``command`` into the mailbox and wait for its result; see ``ControllerPort``."""
        token = next(self._tokens)
        caller: asyncio.Future[CommandResult] = asyncio.get_running_loop().create_future()
        self._callers[token] = caller
        topics = command.topics if isinstance(command, CreateTopics) else ()
        draws = tuple(Draw(self._dice(), self._dice()) for _ in topics)
        self._put(CommandReceived(token, command, draws))
        try:
            # Not asyncio.timeout: a request handler has no task before its first wait.
            await asyncio.wait((caller,), timeout=timeout_ms / 1000)
            if caller.done():
                return cast("R | Refused", caller.result())
            message = f"The controller did not carry the command out within {timeout_ms} ms."
            return Refused(ErrorCode.REQUEST_TIMED_OUT, message)
        finally:
            del self._callers[token]

    def reply(self, reply: Reply) -> None:
        """Resolve the future of the caller, if it still waits."""
        caller = self._callers.get(reply.token)
        if caller is not None and not caller.done():
            caller.set_result(reply.result)
