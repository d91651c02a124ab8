"""The store of ``/brokers/ids``: live brokers, and a broker's own registration."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Iterable

import structlog

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import BadVersion, NodeExists, NoNode
from barnabas.cluster.zk.client.operations import Create, Delete, Node, Set, Stat
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import brokers, paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, int32_of

_log = structlog.stdlib.get_logger("kafka.zk.KafkaZkClient")

_POLL_MS = 50


class BrokerIdTaken(NodeExists):
    """An error for an id under which another broker stayed registered for a session timeout."""

    meaning = "is registered by another broker"


class EndpointTaken(NodeExists):
    """An error for an address that another registered broker advertises."""

    meaning = "advertises an address of this broker"


class BrokerStore:
    """The registrations of brokers."""

    def __init__(self, session: ZooKeeperSession) -> None:
        self._session = session

    async def ids(self, *, watch: bool = False) -> list[BrokerId]:
        """Return the live brokers, ascending; the watch on ``/brokers/ids`` reports new and vanished ones.

        A node whose name is not a broker id is logged and ignored.
        """
        ids: list[BrokerId] = []
        for name in await self._session.get_children(paths.BROKER_IDS, watch=watch):
            number = int32_of(name)
            # "7" and "007" are both the number 7, but only one is the path of broker 7.
            if number is not None and str(number) == name:
                ids.append(BrokerId(number))
            else:
                _log.error("skipped a node that is no broker's", path=f"{paths.BROKER_IDS}/{name}")
        return sorted(ids)

    async def live(self, *, watch: bool = False) -> dict[BrokerId, Broker]:
        """Return all live brokers by id, with the watch of ``ids``.

        A broker that restarted between two reads differs only in its ``epoch``.
        """
        return await self.read(await self.ids(watch=watch))

    async def read(self, ids: Iterable[BrokerId], *, watch: bool = False) -> dict[BrokerId, Broker]:
        """Return those of the given brokers that are live.

        The watches on their nodes report changed endpoints.
        """
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
        """Register a broker for the duration of this session, and return its broker epoch.

        An existing registration of the same id belongs to an earlier incarnation of this broker in two cases:
        this process had that session, or this process holds all the log directory locks that the registered
        process held, which must have ended then. (Equal advertised endpoints prove nothing.) Such a
        registration is deleted and created again in one transaction, so that the broker gets a new epoch, and
        with it ``/controller`` if that session owns it; a controller elected after that finds the new
        registration. Any other registration gets one session timeout to vanish. Examples are a registration
        of Kafka, which has no locks; of a process that may still hold another directory; and of a process
        whose directory was copied.

        Args:
            broker: The ``broker.id``.
            endpoints: All advertised endpoints.
            rack: The ``broker.rack``; None if it is not set.
            now_ms: The wall clock, in milliseconds since 1970.
            log_dir_locks: The locks of log directories that this process holds.
            former_session: The session in which this process was registered before; None if there was none.
            jmx_port: The port of JMX; -1 for none.

        Raises:
            BrokerIdTaken: Another broker has the id and did not vanish within a session timeout.
            EndpointTaken: A broker with another id advertises one of the addresses.
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
                in_the_way = ()  # it vanished just then
            else:
                stat = answers[-1]
                if isinstance(stat, Stat):
                    return BrokerEpoch(stat.czxid)

    async def _look_at(
        self, broker: BrokerId, held: frozenset[str], former_session: int | None
    ) -> BrokerEpoch | tuple[Delete, ...]:
        """Handle an existing registration of the same id.

        Returns:
            Its epoch if this session owns it; else the operations that delete it, empty if it is gone.
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
        """Return the operations that delete an earlier registration, and ``/controller`` of the same session.

        If that session ends before, both nodes vanish together, so neither is deleted after another broker
        created it.
        """
        controller = await self._session.exists(paths.CONTROLLER)
        if controller is None or controller.ephemeral_owner != former.ephemeral_owner:
            return (Delete(path, former.version),)
        return Delete(path, former.version), Delete(paths.CONTROLLER, controller.version)

    async def _gone_within_a_session(self, path: str) -> bool:
        """Wait one and a half session timeouts (servers expire late) and return whether the node vanished."""
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
    """Decode a registration; log an unreadable one and return None, so that it does not block others."""
    try:
        return _broker(broker, node)
    except ZnodeDecodeError as error:
        _log.error("skipped a broker whose registration cannot be read", error=str(error))
        return None


def _has_ended(broker: BrokerId, node: Node, held: frozenset[str]) -> bool:
    """Return whether the registered process has ended, because this process holds all its locks."""
    try:
        locks = brokers.decode_log_dir_locks(broker, node.data)
    except ZnodeDecodeError:
        return False
    return bool(locks) and locks <= held


def _broker(broker: BrokerId, node: Node) -> Broker:
    return brokers.decode_broker(broker, node.data, BrokerEpoch(node.stat.czxid))
