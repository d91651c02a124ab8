"""The store of ``/controller``, ``/controller_epoch`` and the controller's record."""

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
from barnabas.cluster.zk.client.errors import BadVersion, ControllerMoved, NodeExists, NoNode
from barnabas.cluster.zk.client.operations import Check, Create, Delete, Set, Stat
from barnabas.cluster.zk.client.pipeline import value
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import brokers, paths
from barnabas.cluster.zk.schema.body import INT32_MAX, ZnodeDecodeError
from barnabas.cluster.zk.schema.brokers import ControllerRegistration
from barnabas.cluster.zk.stores.fence import Fence, write, write_many

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")


class ControllerStore:
    """The store of the controller's registration, its epoch and its record."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def look(self, *, watch: bool = False) -> Controllership:
        """Read the controller's claim and epoch; the watch reports creation, change and deletion.

        Content that cannot be decoded does not raise an error, because an election must be possible anyway.
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
        """Try to make this broker the controller, in one transaction.

        The transaction deletes the claim that was seen, creates ``/controller`` and raises the epoch. Source:
        ``KafkaZkClient.registerControllerAndIncrementEpoch``, which does not delete.

        Args:
            broker: The candidate.
            now_ms: The wall clock, in milliseconds since 1970.
            seen: The claim to replace, which no broker owns; None if there was none.
            above: The latest controller epoch that the broker knows. The new epoch is higher than this and
                than the recorded one, even if a person lowered or deleted ``/controller_epoch``, because
                brokers refuse requests of earlier epochs.

        Returns:
            The fence with the new epoch and the version of its node.

        Raises:
            ControllerMoved: Another broker won, or no broker did.
            ZnodeDecodeError: ``/controller_epoch`` is not a number, or is the largest one.
        """
        epoch, stat = await self._epoch()
        recorded = (await self._record()).epoch
        if seen is not None:
            # A broker elected after this read raises the epoch that was read; one elected before created
            # another node.
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
            return await self._lost_response(broker, won)
        written = answers[-1]
        version = written.version if isinstance(written, Stat) else stat.version + 1
        return Fence(won, EpochVersion(version))

    async def latest_epoch(self) -> ControllerEpoch:
        """Read ``/controller_epoch``; return ``NO_CONTROLLER_EPOCH`` if it is missing or not a number."""
        try:
            return brokers.decode_controller_epoch((await self._session.get(paths.CONTROLLER_EPOCH)).data)
        except (NoNode, ZnodeDecodeError):
            return NO_CONTROLLER_EPOCH

    async def record_epoch(self, fence: Fence) -> Mapping[BrokerId, BrokerEpoch]:
        """Record the epoch of this controller, and return the recorded broker epochs.

        Raises:
            ControllerMoved: The fence refused.
        """
        record = await self._record()
        await self._write_record(replace(record, epoch=fence.controller_epoch), fence)
        return record.broker_epochs

    async def record_brokers(self, broker_epochs: Mapping[BrokerId, BrokerEpoch], fence: Fence) -> None:
        """Record the broker epochs that controllers have handled.

        Raises:
            ControllerMoved: The fence refused.
        """
        await self._write_record(ControllerRecord(fence.controller_epoch, broker_epochs), fence)

    async def _record(self) -> ControllerRecord:
        """Read the record; return an empty one if it is missing or cannot be decoded."""
        try:
            return brokers.decode_controller_record((await self._session.get(paths.CONTROLLER_RECORD)).data)
        except NoNode:
            return ControllerRecord()
        except ZnodeDecodeError as error:
            _log.error("a node that cannot be read is overwritten", error=str(error))
            return ControllerRecord()

    async def _write_record(self, record: ControllerRecord, fence: Fence) -> None:
        change = Set(paths.CONTROLLER_RECORD, brokers.encode_controller_record(record))
        try:
            await write(self._session, fence, change)
        except NoNode:
            whole = (*paths.ancestors(paths.CONTROLLER_RECORD), paths.CONTROLLER_RECORD)
            outcomes = await write_many(self._session, fence, [*([Create(path)] for path in whole), [change]])
            value(outcomes[-1])  # the other nodes may exist already

    async def give_up(self) -> None:
        """Delete ``/controller`` if this session owns it, so that another election can start.

        The deletion checks the epoch that was read before, so that it does not delete a node of the same
        version that another broker created meanwhile.
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
                continue  # one of the two nodes was written in between: read again
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
        """Read the epoch; create it as 0 in a new cluster."""
        try:
            node = await self._session.get(paths.CONTROLLER_EPOCH)
        except NoNode:
            zero = Create(paths.CONTROLLER_EPOCH, brokers.encode_controller_epoch(NO_CONTROLLER_EPOCH))
            await self._session.multi_many([[zero]])  # it may exist already
            node = await self._session.get(paths.CONTROLLER_EPOCH)
        return brokers.decode_controller_epoch(node.data), node.stat

    async def _lost_response(self, broker: BrokerId, epoch: ControllerEpoch) -> Fence:
        """Check whether an election whose response was lost was won."""
        claim = await self._claim()
        if claim is None:
            raise ControllerMoved(f"broker {broker} lost the election, and the winner has vanished already")
        found, stat = await self._epoch()
        if (claim.named, claim.owner) == (broker, Owner.THIS_SESSION) and found == epoch:
            return Fence(epoch, EpochVersion(stat.version))
        winner = "nobody that can be read" if claim.named is None else f"broker {claim.named}"
        raise ControllerMoved(f"{winner} is controller at epoch {found}, not broker {broker}")
