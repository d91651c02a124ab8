"""A broker's part in the election of the controller: read, contest and give up ``/controller``."""

from __future__ import annotations

import time
from collections.abc import Callable

import structlog

from barnabas.cluster.model.controllership import Claim, Controllership
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import ControllerMoved
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.stores.controller import ControllerStore
from barnabas.controller.core.election.effects import Lost
from barnabas.controller.core.protocol.effects import ControllerFence

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


class Candidacy:
    """The reads and writes of ``/controller`` by which one broker takes part in elections, in one session.

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

    async def read(self) -> Controllership:
        """Read ``/controller`` and its epoch, and watch ``/controller``."""
        return await self._store.look(watch=True)

    async def contest(self, seen: Claim | None, above: ControllerEpoch) -> ControllerFence | Lost:
        """Replace ``seen`` by this broker's node and raise the epoch, unless another was elected first."""
        try:
            fence = await self._store.elect(self._broker_id, int(self._clock() * 1000), seen, above)
        except ControllerMoved as refusal:
            _log.info("lost the race for the controller", reason=str(refusal))
            return Lost()
        except ZnodeDecodeError as error:
            _log.error("nobody can be elected while the epoch cannot be read", error=str(error))
            return Lost()
        return ControllerFence(fence.controller_epoch, fence.epoch_version)

    async def give_up(self) -> None:
        """Delete the node if this session owns it."""
        await self._store.give_up()
