"""The observer of a cluster in ZooKeeper, which uses watches, so that an idle cluster costs nothing."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from enum import Enum, auto

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.zk.client.errors import NoNode, ZooKeeperError
from barnabas.cluster.zk.client.operations import SessionEvent, WatchEvent
from barnabas.cluster.zk.client.security import UNSECURED, ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.schema.body import ZnodeDecodeError, int32_of
from barnabas.cluster.zk.stores.brokers import BrokerStore
from barnabas.cluster.zk.stores.controller import ControllerStore
from barnabas.cluster.zk.stores.partitions import PartitionStore
from barnabas.cluster.zk.stores.topics import TopicStore
from barnabas.page.model import BrokerView, ClusterState, PartitionView

_SESSION_TIMEOUT_MS = 10_000
_REQUEST_TIMEOUT_MS = 5_000
_RETRY_S = 0.5
_PEER_LISTENER = "GRPC"
"""The listener between brokers, which is no address for clients."""

OnState = Callable[[ClusterState, int], None]
"""A callback that gets the new state and the time in milliseconds since 1970."""


class Connection(Enum):
    """The states of the connection to ZooKeeper."""

    MADE = auto()
    LOST = auto()


class Observer:
    """Follows a cluster's znodes.

    Args:
        zookeeper: The connect string.
        on_state: Called with every new state.
        on_connection: Called when ZooKeeper does not answer, and when it does.
        security: The login and TLS.
    """

    def __init__(
        self,
        zookeeper: str,
        on_state: OnState,
        on_connection: Callable[[Connection], None],
        security: ZooKeeperSecurity = UNSECURED,
    ) -> None:
        self._zookeeper = zookeeper
        self._security = security
        self._on_state = on_state
        self._on_connection = on_connection
        self._state = ClusterState()
        self._assignments: dict[str, dict[int, Assignment]] = {}
        self._dirty: set[str] = set()
        self._woken = asyncio.Event()
        self._is_over = False

    async def run(self) -> None:
        """Follow the cluster until cancelled, through all sessions that this takes."""
        while True:
            try:
                await self._follow()
            except (ZooKeeperError, ZnodeDecodeError, OSError):
                self._on_connection(Connection.LOST)
            await asyncio.sleep(_RETRY_S)

    async def _follow(self) -> None:
        self._is_over = False
        session = ZooKeeperSession(
            self._zookeeper,
            _SESSION_TIMEOUT_MS,
            _REQUEST_TIMEOUT_MS,
            on_event=self._on_event,
            security=self._security,
        )
        try:
            await session.open(_SESSION_TIMEOUT_MS)
            self._dirty = {paths.CONTROLLER, paths.BROKER_IDS, paths.TOPICS}
            # Nodes that were read in a former session have no watch in this one.
            self._dirty |= {paths.broker(BrokerId(broker)) for broker in self._state.brokers}
            self._assignments.clear()
            while not self._is_over:
                dirty, self._dirty = self._dirty, set()
                self._woken.clear()
                try:
                    await self._read(session, dirty)
                except NoNode:
                    # No broker has created /brokers yet, and a missing parent cannot be watched.
                    self._dirty |= dirty
                    await asyncio.sleep(_RETRY_S)
                    continue
                self._on_connection(Connection.MADE)
                await self._woken.wait()
        finally:
            await session.close()

    def _on_event(self, event: WatchEvent | SessionEvent) -> None:
        if isinstance(event, WatchEvent):
            self._dirty.add(event.path)
        elif event is SessionEvent.EXPIRED:
            self._is_over = True
        elif event is SessionEvent.DISCONNECTED:
            self._on_connection(Connection.LOST)
            return
        self._woken.set()

    async def _read(self, session: ZooKeeperSession, dirty: set[str]) -> None:
        """Read again what changed, and report the new state if it differs."""
        state = self._state
        if paths.CONTROLLER in dirty:
            found = await ControllerStore(session).look(watch=True)
            named = None if found.claim is None or found.claim.named is None else int(found.claim.named)
            state = replace(state, controller=named, controller_epoch=max(0, found.epoch))
        brokers = {int(broker) for path in dirty if (broker := _broker_of(path)) is not None}
        if paths.BROKER_IDS in dirty:
            live = set(map(int, await BrokerStore(session).ids(watch=True)))
            brokers |= live - set(state.brokers)
            state = replace(state, brokers={b: view for b, view in state.brokers.items() if b in live})
        if brokers:
            read = await BrokerStore(session).read(map(BrokerId, brokers), watch=True)
            kept = {b: view for b, view in state.brokers.items() if b not in brokers}
            known = {**kept, **{int(b): _view(each) for b, each in read.items()}}
            state = replace(state, brokers=dict(sorted(known.items())))
        state = replace(state, partitions=await self._partitions(session, dirty, state))
        if state != self._state:
            self._state = state
            self._on_state(state, int(time.time() * 1000))

    async def _partitions(
        self, session: ZooKeeperSession, dirty: set[str], state: ClusterState
    ) -> dict[TopicPartition, PartitionView]:
        topics = {topic for path in dirty if (topic := _topic_of(path)) in self._assignments}
        if paths.TOPICS in dirty:
            names = await TopicStore(session).names(watch=True)
            topics |= names - set(self._assignments)
            for gone in set(self._assignments) - names:
                del self._assignments[gone]
        stale = {tp for path in dirty if (tp := paths.partition_of_state(path)) is not None}
        for topic in topics:
            await self._read_assignment(session, topic, stale)
        stale = {tp for tp in stale if tp.partition in self._assignments.get(tp.topic, ())}
        states = await PartitionStore(session).read(stale, watch=True)
        await self._await_creation(session, [paths.partition_state(tp) for tp in stale - set(states)])
        views: dict[TopicPartition, PartitionView] = {}
        for topic, partitions in self._assignments.items():
            for number, assignment in partitions.items():
                tp = TopicPartition(topic, number)
                found, before = states.get(tp), state.partitions.get(tp)
                if found is not None:
                    known = found.leader_and_isr
                    epochs = known.leader_epoch, found.controller_epoch
                    view = PartitionView((), known.leader, known.isr, *epochs)
                elif tp in stale or before is None:
                    view = PartitionView(())
                else:
                    view = before
                views[tp] = view._replace(
                    replicas=assignment.replicas, adding=assignment.adding, removing=assignment.removing
                )
        return views

    async def _await_creation(self, session: ZooKeeperSession, missing: Sequence[str]) -> None:
        """Watch for the creation of nodes; those that were created since they were read are read again."""
        found = await asyncio.gather(*(session.exists(path, watch=True) for path in missing))
        created = {path for path, stat in zip(missing, found, strict=True) if stat is not None}
        if created:
            self._dirty |= created
            self._woken.set()

    async def _read_assignment(
        self, session: ZooKeeperSession, topic: str, stale: set[TopicPartition]
    ) -> None:
        """Read a topic's assignment; partitions that are new in it join ``stale``."""
        try:
            read = await TopicStore(session).read([topic], watch=True)
        except ZnodeDecodeError:  # the brokers log the error; the page leaves the topic out
            read = {}
        before = self._assignments.get(topic, {})
        after = dict(read[topic].partitions) if topic in read else {}
        self._assignments[topic] = after
        stale |= {TopicPartition(topic, number) for number in after if number not in before}


def _broker_of(path: str) -> BrokerId | None:
    number = int32_of(path.removeprefix(f"{paths.BROKER_IDS}/"))
    return None if number is None else BrokerId(number)


def _topic_of(path: str) -> str:
    return path.removeprefix(f"{paths.TOPICS}/")


def _view(broker: Broker) -> BrokerView:
    return BrokerView(_address(broker), broker.epoch, broker.rack)


def _address(broker: Broker) -> str:
    """Return the address of the first listener for clients."""
    for_clients = [each for each in broker.endpoints if each.listener != _PEER_LISTENER]
    return next((f"{each.host}:{each.port}" for each in (*for_clients, *broker.endpoints)), "")
