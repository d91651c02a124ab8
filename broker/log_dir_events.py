"""Tells the controller of failed log directories of this broker, through ``/log_dir_event_notification``.

Source: ``ReplicaManager.handleLogDirFailure`` and ``KafkaZkClient.propagateLogDirEvent`` of release 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Protocol

import structlog

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.errors import ZooKeeperError
from barnabas.cluster.zk.schema.admin import LogDirEvent

_log = structlog.get_logger("kafka.server.ReplicaManager")

RETRY_S = 0.5
"""Between two attempts while ZooKeeper does not answer."""


class Notes(Protocol):
    """What is needed of ZooKeeper (``cluster.zk.store_notifications.NotificationQueue``)."""

    async def add(self, note: LogDirEvent) -> str:
        """Leave a note and return its name."""
        ...


class LogDirEvents:
    """Leaves a note after failures; several that come while ZooKeeper is away are one note.

    Args:
        broker_id: This broker.
        notes: Gives the notes of the current ZooKeeper session.
    """

    def __init__(self, broker_id: BrokerId, notes: Callable[[], Notes]) -> None:
        self._broker_id = broker_id
        self._notes = notes
        self._failed = asyncio.Event()

    def failed(self) -> None:
        """A log directory has failed."""
        self._failed.set()

    async def run(self) -> None:
        """Leave notes as directories fail; runs until cancelled."""
        while True:
            await self._failed.wait()
            self._failed.clear()
            try:
                name = await self._notes().add(LogDirEvent(self._broker_id))
            except ZooKeeperError as error:
                _log.warning(f"The controller is not told of a failed log directory yet: {error}")
                self._failed.set()
                await asyncio.sleep(RETRY_S)
            else:
                _log.info(f"The controller is told of a failed log directory: {name}")
