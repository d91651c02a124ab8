"""``/controller`` and ``/controller_epoch``: who is controller, and the race to become it."""

from __future__ import annotations

from cluster.model.controllership import Claim, Controllership, Owner
from cluster.model.epochs import NO_CONTROLLER_EPOCH, ControllerEpoch, EpochVersion, Zxid
from cluster.model.ids import BrokerId
from cluster.zk.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from cluster.zk.fence import Fence
from cluster.zk.operations import Check, Create, Delete, Set, Stat
from cluster.zk.schema import brokers, paths
from cluster.zk.schema.body import ZnodeDecodeError
from cluster.zk.schema.brokers import ControllerRegistration
from cluster.zk.session import ZooKeeperSession


class ControllerStore:
    """The controller's registration and its epoch."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def look(self, *, watch: bool = False) -> Controllership:
        """Who claims to be controller, and in which reign; the watch tells of creation, change and deletion.

        What cannot be read is told as such and raises nothing: the race must go on over it.
        """
        claim = await self._claim(watch=watch)
        try:
            node = await self._session.get(paths.CONTROLLER_EPOCH)
            return Controllership(claim, brokers.decode_controller_epoch(node.data))
        except (NoNode, ZnodeDecodeError):
            return Controllership(claim)

    async def elect(
        self,
        broker: BrokerId,
        now_ms: int,
        seen: Claim | None = None,
        above: ControllerEpoch = NO_CONTROLLER_EPOCH,
    ) -> Fence:
        """Try to make this broker controller, in one transaction.

        It deletes the claim that was seen, creates ``/controller`` and raises the epoch. Source:
        ``KafkaZkClient.registerControllerAndIncrementEpoch``, which does not delete.

        Args:
            broker: The candidate.
            now_ms: The wall clock, in milliseconds since 1970.
            seen: The claim to be replaced, nobody's; None where there was none.
            above: The latest reign that the broker knows of. Brokers obey no earlier one, so the new one is
                later even where somebody lowered or deleted ``/controller_epoch``.

        Returns:
            The won epoch and the version that fences this reign's writes.

        Raises:
            ControllerMoved: Another broker won, or nobody did.
            ZnodeDecodeError: ``/controller_epoch`` holds no number, so that there is no next one.
        """
        epoch, stat = await self._epoch()
        if seen is not None:
            # Whoever is elected from here on raises the epoch just read; who was before made another node.
            standing = await self._session.exists(paths.CONTROLLER)
            if standing is None or standing.mzxid != seen.zxid:
                raise ControllerMoved(f"another came before broker {broker}: {paths.CONTROLLER} has changed")
        won = ControllerEpoch(max(epoch, above) + 1)
        registration = brokers.encode_controller(ControllerRegistration(broker, now_ms))
        replaced = () if seen is None else (Delete(paths.CONTROLLER, seen.version),)
        try:
            answers = await self._session.multi(
                *replaced,
                Create(paths.CONTROLLER, registration, ephemeral=True),
                Set(paths.CONTROLLER_EPOCH, brokers.encode_controller_epoch(won), stat.version),
            )
        except (NodeExists, BadVersion, NoNode):
            return await self._unheard(broker, won)
        written = answers[-1]
        version = written.version if isinstance(written, Stat) else stat.version + 1
        return Fence(won, EpochVersion(version))

    async def give_up(self) -> None:
        """Delete ``/controller`` where this session owns it, so that the race is open; else do nothing.

        The deletion checks the epoch read before: a node that another broker won meanwhile, at the same
        version, is not this session's to delete.
        """
        while True:
            epoch = await self._session.exists(paths.CONTROLLER_EPOCH)
            fence = () if epoch is None else (Check(paths.CONTROLLER_EPOCH, epoch.version),)
            standing = await self._session.exists(paths.CONTROLLER)
            if standing is None or standing.ephemeral_owner != self._session.id:
                return
            try:
                await self._session.multi(*fence, Delete(paths.CONTROLLER, standing.version))
            except (BadVersion, NoNode):
                continue  # somebody wrote one of the two just then: look again
            return

    async def _claim(self, *, watch: bool = False) -> Claim | None:
        if await self._session.exists(paths.CONTROLLER, watch=watch) is None:
            return None
        try:
            node = await self._session.get(paths.CONTROLLER, watch=watch)
        except NoNode:
            return None
        try:
            named: BrokerId | None = brokers.decode_controller(node.data).broker
        except ZnodeDecodeError:
            named = None
        named = None if named is None or named < 0 else named
        owner = await self._owner(node.stat.ephemeral_owner, named)
        return Claim(named, owner, node.stat.version, Zxid(node.stat.mzxid))

    async def _owner(self, session: int, named: BrokerId | None) -> Owner:
        if session == self._session.id:
            return Owner.THIS_SESSION
        if session == 0:
            return Owner.NOBODY
        if named is not None:
            registered = await self._session.exists(paths.broker(named))
            if registered is not None and registered.ephemeral_owner == session:
                return Owner.NAMED_BROKER
        try:
            ids = await self._session.get_children(paths.BROKER_IDS)
        except NoNode:
            return Owner.NOBODY
        nodes = await self._session.get_many([f"{paths.BROKER_IDS}/{id_}" for id_ in ids])
        owners = {node.stat.ephemeral_owner for node in nodes if node is not None}
        return Owner.OTHER_BROKER if session in owners else Owner.NOBODY

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
        claim = await self._claim()
        if claim is None:
            raise ControllerMoved(f"broker {broker} lost the election, and the winner is gone already")
        found, stat = await self._epoch()
        if (claim.named, claim.owner) == (broker, Owner.THIS_SESSION) and found == epoch:
            return Fence(epoch, EpochVersion(stat.version))
        winner = "nobody that can be read" if claim.named is None else f"broker {claim.named}"
        raise ControllerMoved(f"{winner} is controller at epoch {found}, not broker {broker}")
