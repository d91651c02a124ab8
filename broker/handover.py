"""The last that a broker asks of the controller: to be relieved of what it leads.

Source: ``KafkaServer.controlledShutdown`` of release 2.8, whose words the log has; see also
docs/kafka/topics.md, Controlled shutdown.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from barnabas.cluster.model.commands import ControllerPort, Refused
from barnabas.cluster.model.commands_shutdown import ControlledShutdown
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.settings import setting

_log = structlog.get_logger("kafka.server.KafkaServer")

Sleep = Callable[[float], Awaitable[None]]
"""Waits so many seconds."""


@dataclass(frozen=True, slots=True)
class HandoverSettings:
    """The settings that a controlled shutdown reads."""

    enable: bool = setting("controlled.shutdown.enable")
    max_retries: int = setting("controlled.shutdown.max.retries")
    retry_backoff_ms: int = setting("controlled.shutdown.retry.backoff.ms")
    socket_timeout_ms: int = setting("controller.socket.timeout.ms")


class Handover:
    """A broker's controlled shutdown.

    Args:
        broker_id: The broker that is about to stop.
        epoch: That of its registration, which may change while it tries.
        controller: The way to the active controller, whichever broker that is by then.
        settings: How long it tries.
        sleep: Waits between two tries.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        epoch: Callable[[], BrokerEpoch],
        controller: ControllerPort,
        settings: HandoverSettings,
        sleep: Sleep = asyncio.sleep,
    ) -> None:
        self._broker_id = broker_id
        self._epoch = epoch
        self._controller = controller
        self._settings = settings
        self._sleep = sleep

    async def carry_out(self) -> bool:
        """Ask until nothing remains that somebody else could lead, or the tries are used up.

        Returns:
            Whether the broker leads no more than what nobody else holds. If not it stops all the same: then
            its partitions are without leader until the controller sees it gone.
        """
        if not self._settings.enable:
            return False
        _log.info("Starting controlled shutdown")
        for left in range(self._settings.max_retries - 1, -1, -1):
            if await self._ask():
                _log.info("Controlled shutdown succeeded")
                return True
            if left:
                await self._sleep(self._settings.retry_backoff_ms / 1000)
                _log.warning(f"Retrying controlled shutdown after the previous attempt failed; {left} left")
        _log.warning("Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed")
        return False

    async def _ask(self) -> bool:
        command = ControlledShutdown(self._broker_id, self._epoch())
        answer = await self._controller.submit(command, self._settings.socket_timeout_ms)
        if isinstance(answer, Refused):
            _log.info(f"Error from controller: {answer.error.name}: {answer.message}")
            return False
        if answer.remaining:
            _log.info(f"Remaining partitions to move: {', '.join(map(str, answer.remaining))}")
        return not answer.remaining
