"""The notification of failed log directories to the controller, through ``/log_dir_event_notification``.

Source: ``ReplicaManager.handleLogDirFailure`` and ``KafkaZkClient.propagateLogDirEvent`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import ZooKeeperError
from barnabas.cluster.zk.schema.admin import LogDirEvent
from barnabas.cluster.zk.stores.notifications import NotificationQueue

_log = structlog.get_logger("kafka.server.ReplicaManager")

RETRY_S = 0.5
"""Pause before a failed write is repeated, seconds."""


class LogDirEvents:
    """Writes a notification after failures. Failures while ZooKeeper is unreachable share one.

    Args:
        broker_id: This broker.
        notifications: Returns the queue of the current ZooKeeper session.
    """

    def __init__(
        self, broker_id: BrokerId, notifications: Callable[[], NotificationQueue[LogDirEvent, LogDirEvent]]
    ) -> None:
        self._broker_id = broker_id
        self._notifications = notifications
        self._failed = asyncio.Event()

    def failed(self) -> None:
        """Record that a log directory has failed."""
        self._failed.set()

    async def run(self) -> None:
        """Write notifications as directories fail; runs until cancelled."""
        while True:
            await self._failed.wait()
            self._failed.clear()
            try:
                name = await self._notifications().add(LogDirEvent(self._broker_id))
            except ZooKeeperError as error:
                _log.warning(f"The controller is not notified of a failed log directory yet: {error}")
                self._failed.set()
                await asyncio.sleep(RETRY_S)
            else:
                _log.info(f"The controller is notified of a failed log directory: {name}")
