"""``/controller`` and ``/controller_epoch``: who is controller, and the race to become it."""

from __future__ import annotations

from dataclasses import dataclass

from cluster.model.epochs import NO_CONTROLLER_EPOCH, ControllerEpoch, EpochVersion
from cluster.model.ids import BrokerId
from cluster.zk.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from cluster.zk.fence import Fence, write
from cluster.zk.operations import Create, Delete, Set, Stat
from cluster.zk.schema import brokers, paths
from cluster.zk.schema.brokers import ControllerRegistration
from cluster.zk.session import ZooKeeperSession


@dataclass(frozen=True, slots=True)
class ActiveController:
    """Who holds ``/controller``.

    Attributes:
        broker: The broker that it names.
        is_this_session: Whether the session that reads it owns it. If so while no controller runs here, its
            election went unheard: ``give_up`` it and elect again (KAFKA-4229).
    """

    broker: BrokerId
    is_this_session: bool


class ControllerStore:
    """The controller's registration and its epoch."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def active(self, *, watch: bool = False) -> ActiveController | None:
        """Who is controller, None where nobody is; the watch tells of creation, change and deletion."""
        if await self._session.exists(paths.CONTROLLER, watch=watch) is None:
            return None
        try:
            node = await self._session.get(paths.CONTROLLER, watch=watch)
        except NoNode:
            return None
        owner = node.stat.ephemeral_owner
        return ActiveController(brokers.decode_controller(node.data).broker, owner == self._session.id)

    async def elect(self, broker: BrokerId, now_ms: int) -> Fence:
        """Try to make this broker controller: one transaction creates ``/controller`` and raises the epoch.

        Call it when ``active`` found nobody. Source: ``KafkaZkClient.registerControllerAndIncrementEpoch``.

        Args:
            broker: The candidate.
            now_ms: The wall clock, in milliseconds since 1970.

        Returns:
            The won epoch and the version that fences this reign's writes.

        Raises:
            ControllerMoved: Another broker won, or nobody did.
        """
        epoch, stat = await self._epoch()
        won = ControllerEpoch(epoch + 1)
        registration = brokers.encode_controller(ControllerRegistration(broker, now_ms))
        try:
            answers = await self._session.multi(
                Create(paths.CONTROLLER, registration, ephemeral=True),
                Set(paths.CONTROLLER_EPOCH, brokers.encode_controller_epoch(won), stat.version),
            )
        except (NodeExists, BadVersion):
            return await self._unheard(broker, won)
        written = answers[1]
        version = written.version if isinstance(written, Stat) else stat.version + 1
        return Fence(won, EpochVersion(version))

    async def give_up(self, fence: Fence | None = None) -> None:
        """Delete ``/controller`` where this session owns it, so that the race is open; else do nothing.

        Args:
            fence: That of the reign to end, or None where this session never learned of its election.

        Raises:
            ControllerMoved: The fence refused.
        """
        try:
            node = await self._session.get(paths.CONTROLLER)
            if node.stat.ephemeral_owner == self._session.id:
                await write(self._session, fence, Delete(paths.CONTROLLER, node.stat.version))
        except NoNode:
            return

    async def _epoch(self) -> tuple[ControllerEpoch, Stat]:
        """The epoch, created as 0 in a new cluster."""
        try:
            node = await self._session.get(paths.CONTROLLER_EPOCH)
        except NoNode:
            zero = Create(paths.CONTROLLER_EPOCH, brokers.encode_controller_epoch(NO_CONTROLLER_EPOCH))
            await self._session.multi_many([[zero]])  # that it exists by now is as good
            node = await self._session.get(paths.CONTROLLER_EPOCH)
        return brokers.decode_controller_epoch(node.data), node.stat

    async def _unheard(self, broker: BrokerId, epoch: ControllerEpoch) -> Fence:
        """The election seems lost; it was won if all stands as it wrote it: only the answer was lost."""
        active = await self.active()
        if active is None:
            raise ControllerMoved(f"broker {broker} lost the election, and the winner is gone already")
        found, stat = await self._epoch()
        if active == ActiveController(broker, is_this_session=True) and found == epoch:
            return Fence(epoch, EpochVersion(stat.version))
        raise ControllerMoved(f"broker {active.broker} is controller at epoch {found}, not broker {broker}")
