"""The race for ``/controller``: who is it, one transaction to become it, and giving it up."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from cluster.model.ids import BrokerId
from cluster.zk.errors import ControllerMoved
from cluster.zk.schema.body import ZnodeDecodeError
from cluster.zk.store_controller import ControllerStore
from controller.core.effects import NO_CONTROLLER, Lost, Reign

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


class Candidacy:
    """One broker's part in the race, in one session.

    Args:
        store: The session's ``/controller``.
        broker_id: The candidate.
        clock: Seconds since 1970.
    """

    def __init__(
        self, store: ControllerStore, broker_id: BrokerId, clock: Callable[[], float] = time.time
    ) -> None:
        self._store = store
        self._broker_id = broker_id
        self._clock = clock

    async def read(self) -> BrokerId:
        """Who is named in ``/controller``; watches it from here on. `NO_CONTROLLER` if nobody can be read."""
        try:
            active = await self._store.active(watch=True)
        except ZnodeDecodeError as error:
            _log.error("the controller's node cannot be read", error=str(error))
            return NO_CONTROLLER
        return NO_CONTROLLER if active is None else active.broker

    async def contest(self) -> Reign | Lost:
        """Create the node and raise the epoch, if nobody else does it first."""
        try:
            fence = await self._store.elect(self._broker_id, int(self._clock() * 1000))
        except (ControllerMoved, ZnodeDecodeError) as refusal:
            _log.info("lost the race for the controller", reason=str(refusal))
            return Lost()
        return Reign(fence.controller_epoch, fence.epoch_version)

    async def give_up(self) -> None:
        """Delete the node if this session owns it."""
        await self._store.give_up()
