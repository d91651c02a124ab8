"""Controlled shutdown: before a broker stops, the controller moves its leaders to other replicas.

Source: ``KafkaServer.controlledShutdown`` of release 2.8, which the log lines are from.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from barnabas.cluster.model.commands.command import ControllerPort, Refused
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.configs.settings import setting
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId

_log = structlog.get_logger("kafka.server.KafkaServer")

_WITHOUT_ZOOKEEPER = Refused(
    ErrorCode.NOT_CONTROLLER, "ZooKeeper cannot be reached, so no controller can move leaders"
)


@dataclass(frozen=True, slots=True)
class ControlledShutdownSettings:
    """The settings that a controlled shutdown reads."""

    enable: bool = setting("controlled.shutdown.enable")
    max_retries: int = setting("controlled.shutdown.max.retries")
    retry_backoff_ms: int = setting("controlled.shutdown.retry.backoff.ms")
    socket_timeout_ms: int = setting("controller.socket.timeout.ms")


async def shut_down_controlled(
    broker_id: BrokerId,
    epoch: Callable[[], BrokerEpoch],
    controller: ControllerPort,
    settings: ControlledShutdownSettings,
    sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    *,
    is_connected: Callable[[], bool],
) -> bool:
    """Ask the controller to move this broker's leaders, until none remains or all retries are used up.

    Args:
        broker_id: The broker that is about to stop.
        epoch: Returns its broker epoch, which changes if it registers again meanwhile.
        controller: Reaches the active controller, on whichever broker it is by then.
        settings: Whether to try, how often and for how long.
        sleep: Waits between two attempts, in seconds.
        is_connected: Returns whether ZooKeeper can be reached. While it cannot, no controller is known to be
            active, and none could move a leader; so an attempt fails at once, as Kafka's does that finds no
            controller (``doControlledShutdown``), and does not wait for an answer.

    Returns:
        Whether no partition remains that another replica could lead. If not, the broker stops all the same,
        and its partitions have no leader until the controller sees that its registration is gone.
    """
    if not settings.enable:
        return False
    _log.info("Starting controlled shutdown")
    for left in range(settings.max_retries - 1, -1, -1):
        answer: ControlledShutdownResult | Refused = _WITHOUT_ZOOKEEPER
        if is_connected():
            command = ControlledShutdown(broker_id, epoch())
            answer = await controller.submit(command, settings.socket_timeout_ms)
        if isinstance(answer, Refused):
            _log.info(f"Error from controller: {answer.error.name}: {answer.message}")
        elif answer.remaining:
            _log.info(f"Remaining partitions to move: {', '.join(map(str, answer.remaining))}")
        else:
            _log.info("Controlled shutdown succeeded")
            return True
        if left:
            await sleep(settings.retry_backoff_ms / 1000)
            _log.warning(f"Retrying controlled shutdown after the previous attempt failed; {left} left")
    _log.warning("Proceeding to do an unclean shutdown as all the controlled shutdown attempts failed")
    return False
