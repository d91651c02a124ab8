"""``/controller`` and ``/controller_epoch``: who is controller, and the race to become it; and its record."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import structlog

from barnabas.cluster.model.controllership import Claim, ControllerRecord, Controllership, Owner
from barnabas.cluster.model.epochs import (
    NO_CONTROLLER_EPOCH,
    BrokerEpoch,
    ControllerEpoch,
    EpochVersion,
    Zxid,
)
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from barnabas.cluster.zk.fence import Fence, write, write_many
from barnabas.cluster.zk.operations import Check, Create, Delete, Set, Stat
from barnabas.cluster.zk.pipeline import value
from barnabas.cluster.zk.schema import brokers, paths
from barnabas.cluster.zk.schema.body import INT32_MAX, ZnodeDecodeError
from barnabas.cluster.zk.schema.brokers import ControllerRegistration
from barnabas.cluster.zk.session import ZooKeeperSession

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")


class ControllerStore:
    """The controller's registration, its epoch and its record."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def look(self, *, watch: bool = False) -> Controllership:
        """Who claims to be controller, and in which reign; the watch tells of creation, change and deletion.

        What cannot be read is told as such and raises nothing: the race must go on over it.
        """
        claim = await self._claim(watch=watch)
        return Controllership(claim, await self.latest_epoch())

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
            above: The latest controller epoch that the broker knows of. Brokers obey no earlier one, so the
                new one is later, and later than the recorded one, even where somebody lowered or deleted
                ``/controller_epoch``.

        Returns:
            The won epoch and the version that fences this reign's writes.

        Raises:
            ControllerMoved: Another broker won, or nobody did.
            ZnodeDecodeError: ``/controller_epoch`` holds no number, or the last one, so that there is no next
                one.
        """
        epoch, stat = await self._epoch()
        recorded = (await self._record()).epoch
        if seen is not None:
            # Whoever is elected from here on raises the epoch just read; who was before made another node.
            standing = await self._session.exists(paths.CONTROLLER)
            if standing is None or standing.mzxid != seen.zxid:
                raise ControllerMoved(f"another came before broker {broker}: {paths.CONTROLLER} has changed")
        latest = max(epoch, above, recorded)
        if latest >= INT32_MAX:
            raise ZnodeDecodeError(
                paths.CONTROLLER_EPOCH,
                brokers.encode_controller_epoch(latest),
                f"an epoch below {INT32_MAX}, so that there is a next one",
            )
        won = ControllerEpoch(latest + 1)
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

    async def latest_epoch(self) -> ControllerEpoch:
        """What ``/controller_epoch`` holds; ``NO_CONTROLLER_EPOCH`` where that is nothing or no number."""
        try:
            return brokers.decode_controller_epoch((await self._session.get(paths.CONTROLLER_EPOCH)).data)
        except (NoNode, ZnodeDecodeError):
            return NO_CONTROLLER_EPOCH

    async def record_epoch(self, fence: Fence) -> Mapping[BrokerId, BrokerEpoch]:
        """Record the epoch of this controller; returns the recorded broker epochs.

        Raises:
            ControllerMoved: The fence refused.
        """
        record = await self._record()
        await self._write_record(replace(record, epoch=fence.controller_epoch), fence)
        return record.broker_epochs

    async def record_brokers(self, broker_epochs: Mapping[BrokerId, BrokerEpoch], fence: Fence) -> None:
        """Record the broker epochs that the controllers have dealt with.

        Raises:
            ControllerMoved: The fence refused.
        """
        await self._write_record(ControllerRecord(fence.controller_epoch, broker_epochs), fence)

    async def _record(self) -> ControllerRecord:
        """The record; an empty one where there is none that can be read."""
        try:
            return brokers.decode_controller_record((await self._session.get(paths.CONTROLLER_RECORD)).data)
        except NoNode:
            return ControllerRecord()
        except ZnodeDecodeError as error:
            _log.error("a node is written anew that cannot be read", error=str(error))
            return ControllerRecord()

    async def _write_record(self, record: ControllerRecord, fence: Fence) -> None:
        change = Set(paths.CONTROLLER_RECORD, brokers.encode_controller_record(record))
        try:
            await write(self._session, fence, change)
        except NoNode:
            whole = (*paths.ancestors(paths.CONTROLLER_RECORD), paths.CONTROLLER_RECORD)
            outcomes = await write_many(self._session, fence, [*([Create(path)] for path in whole), [change]])
            value(outcomes[-1])  # that the others exist by now is as good

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
