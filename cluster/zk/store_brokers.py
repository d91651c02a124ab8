"""``/brokers/ids``: which brokers live, and a broker's own registration."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable

import structlog

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.operations import Create, Delete, Node, Set, Stat
from barnabas.cluster.zk.schema import brokers, paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, int32_of
from barnabas.cluster.zk.session import ZooKeeperSession

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")

_POLL_MS = 50


class BrokerIdTaken(NodeExists):
    """Another broker is registered under the id, and stayed so for a session."""

    meaning = "is registered by another broker"


class EndpointTaken(NodeExists):
    """Another broker is registered under one of the addresses."""

    meaning = "advertises an address of this broker"


class BrokerStore:
    """The registrations of brokers."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def ids(self, *, watch: bool = False) -> list[BrokerId]:
        """The live brokers, ascending; the watch, on ``/brokers/ids``, tells of brokers that come and go.

        A node whose name is no broker's id is none, and is logged.
        """
        ids: list[BrokerId] = []
        for name in await self._session.get_children(paths.BROKER_IDS, watch=watch):
            number = int32_of(name)
            # Of "7" and "007", which both say 7, one is the path of broker 7.
            if number is not None and str(number) == name:
                ids.append(BrokerId(number))
            else:
                _log.error("skipped a node that is no broker's", path=f"{paths.BROKER_IDS}/{name}")
        return sorted(ids)

    async def live(self, *, watch: bool = False) -> dict[BrokerId, Broker]:
        """All live brokers by id, with the watch of ``ids``.

        A broker that restarted between two reads shows only in its ``epoch``.
        """
        return await self.read(await self.ids(watch=watch))

    async def read(self, ids: Iterable[BrokerId], *, watch: bool = False) -> dict[BrokerId, Broker]:
        """Those of these brokers that live; the watch, on each one's node, tells of changed endpoints."""
        wanted = list(ids)
        whole = [paths.broker(broker) for broker in wanted]
        nodes = await self._session.get_many(whole, watch=watch, expected_bytes=512)
        found = zip(wanted, nodes, strict=True)
        return {broker: _broker(broker, node) for broker, node in found if node is not None}

    async def register(
        self,
        broker: BrokerId,
        endpoints: tuple[Endpoint, ...],
        rack: str | None,
        *,
        now_ms: int,
        log_dir_locks: frozenset[str] = frozenset(),
        former_session: int | None = None,
        jmx_port: int = -1,
    ) -> BrokerEpoch:
        """Register a broker for as long as this session lives, and return the epoch of this life.

        A registration of the same id is this broker's own former life if this process had that session, or
        if it holds all the locks of log directories that the registered process held: that one has ended
        then, whatever it advertised, and what two brokers advertise proves nothing. It is deleted and made
        anew, so that the broker has a new epoch, and with it goes the controllership, if that life held it.
        All of that is one transaction: whoever becomes controller then finds the new registration. Any other
        registration is given one session to vanish: one of Kafka, which tells no locks; of a process that may
        still hold another directory; of one whose directory was copied.

        Args:
            broker: Its ``broker.id``.
            endpoints: All it advertises.
            rack: Its ``broker.rack``, or None.
            now_ms: The wall clock, in milliseconds since 1970.
            log_dir_locks: Which locks of log directories this process holds.
            former_session: The session in which this process was registered before, or None.
            jmx_port: Where JMX would answer; -1 for nowhere.

        Raises:
            BrokerIdTaken: Another broker holds the id and did not go within one session.
            EndpointTaken: Another broker, by id, advertises one of these addresses.
        """
        await self._refuse_shared_addresses(broker, endpoints)
        path = paths.broker(broker)
        body = brokers.encode_broker(endpoints, rack, now_ms, jmx_port, log_dir_locks)
        in_the_way: tuple[Delete, ...] = ()
        while True:
            try:
                answers = await self._session.multi(
                    *in_the_way, Create(path, ephemeral=True), Set(path, body, 0)
                )
            except NodeExists:
                found = await self._look_at(broker, log_dir_locks, former_session)
                if not isinstance(found, tuple):
                    return found
                in_the_way = found
            except (NoNode, BadVersion):
                if not in_the_way:
                    raise
                in_the_way = ()  # it went by itself, just then
            else:
                stat = answers[-1]
                if isinstance(stat, Stat):
                    return BrokerEpoch(stat.czxid)

    async def _look_at(
        self, broker: BrokerId, held: frozenset[str], former_session: int | None
    ) -> BrokerEpoch | tuple[Delete, ...]:
        """Deal with a registration in the way.

        Returns:
            Its epoch if this session owns it; else what deletes it, which is nothing once it is gone.
        """
        path = paths.broker(broker)
        try:
            node = await self._session.get(path)
        except NoNode:
            return ()
        if node.stat.ephemeral_owner == self._session.id:
            return BrokerEpoch(node.stat.czxid)  # ours: the answer to its creation was lost
        if node.stat.ephemeral_owner == former_session or _has_ended(broker, node, held):
            return await self._deletes(path, node.stat)
        if not await self._gone_within_a_session(path):
            found = _readable(broker, node)
            addresses = ", ".join(map(str, found.endpoints)) if found is not None else "what cannot be read"
            raise BrokerIdTaken(path, detail=f"it listens on {addresses}; expected a broker.id of our own")
        return ()

    async def _deletes(self, path: str, former: Stat) -> tuple[Delete, ...]:
        """What deletes the registration of a former life, and the controllership of the same session.

        Should that session end before, both nodes go at once: neither is deleted in somebody else's hands.
        """
        controller = await self._session.exists(paths.CONTROLLER)
        if controller is None or controller.ephemeral_owner != former.ephemeral_owner:
            return (Delete(path, former.version),)
        return Delete(path, former.version), Delete(paths.CONTROLLER, controller.version)

    async def _gone_within_a_session(self, path: str) -> bool:
        """Whether the node vanishes by itself; half a session more is for the server's own slackness."""
        for _ in range(math.ceil(1.5 * self._session.session_timeout_ms / _POLL_MS)):
            if await self._session.exists(path) is None:
                return True
            await asyncio.sleep(_POLL_MS / 1000)
        return False

    async def _refuse_shared_addresses(self, broker: BrokerId, endpoints: tuple[Endpoint, ...]) -> None:
        ours = {(endpoint.host, endpoint.port) for endpoint in endpoints}
        ids = [other for other in await self.ids() if other != broker]
        nodes = await self._session.get_many([paths.broker(other) for other in ids], expected_bytes=512)
        for id_, node in zip(ids, nodes, strict=True):
            other = None if node is None else _readable(id_, node)
            shared = [] if other is None else [e for e in other.endpoints if (e.host, e.port) in ours]
            if shared:
                raise EndpointTaken(
                    paths.broker(id_), detail=f"{shared[0]}; broker {broker} needs one of its own"
                )


def _readable(broker: BrokerId, node: Node) -> Broker | None:
    """A registration; None, and a line in the log, where it cannot be read: it keeps no one from joining."""
    try:
        return _broker(broker, node)
    except ZnodeDecodeError as error:
        _log.error("skipped a broker whose registration cannot be read", error=str(error))
        return None


def _has_ended(broker: BrokerId, node: Node, held: frozenset[str]) -> bool:
    """Whether the process that registered has ended, because this one holds every lock that it held."""
    try:
        locks = brokers.decode_log_dir_locks(broker, node.data)
    except ZnodeDecodeError:
        return False
    return bool(locks) and locks <= held


def _broker(broker: BrokerId, node: Node) -> Broker:
    return brokers.decode_broker(broker, node.data, BrokerEpoch(node.stat.czxid))
