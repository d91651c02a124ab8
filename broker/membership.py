"""This broker's place in the cluster: one ZooKeeper session after another, and its registration.

The registration is watched: where somebody deletes it, or one of the parents that every broker makes at its
start (by hand, or with all that ZooKeeper holds), a live broker makes them again and registers again in the
same session, after its controllership was given up: its watches are gone with the nodes.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from barnabas.broker.errors import StartError
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperTimeout,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.operations import Change, SessionEvent, WatchEvent, ZooKeeperEvent
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.session import ZooKeeperSession
from barnabas.cluster.zk.store import ZooKeeperStore

_log = structlog.get_logger(__name__)

RECONNECT_PAUSE_S = 1.0
"""Between two attempts to open a session after one was lost (Kafka: ``ZooKeeperClient.RetryBackoffMs``)."""


@dataclass(frozen=True, slots=True)
class Registration:
    """What this broker registers.

    Attributes:
        broker_id: Its broker.id.
        endpoints: What others dial.
        rack: Its broker.rack, or None.
        cluster_id: The cluster that it belongs to.
        log_dir_locks: Gives the locks of log directories that this process holds now.
    """

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    cluster_id: str
    log_dir_locks: Callable[[], frozenset[str]]

    @property
    def path(self) -> str:
        """Where it stands."""
        return paths.broker(self.broker_id)


@dataclass(frozen=True, slots=True)
class ZooKeeperAddress:
    """Where ZooKeeper is and how patient we and it are, in milliseconds."""

    connect: str
    session_timeout_ms: int
    connection_timeout_ms: int


@dataclass(frozen=True, slots=True)
class SessionListeners:
    """Who hears what.

    Attributes:
        watched: A watched path has changed.
        left: This broker is not registered any more, because its session is over or its node was deleted. It
            registers again when this returns, so whatever depends on the old registration (the
            controllership) is given up in it.
        joined: This broker is registered again.
    """

    watched: Callable[[WatchEvent], None]
    left: Callable[[], Awaitable[None]]
    joined: Callable[[ZooKeeperStore, BrokerEpoch], Awaitable[None]]


class InconsistentClusterIdError(Exception):
    """ZooKeeper holds another cluster than the log directories (``InconsistentClusterIdException``)."""


class Membership:
    """Opens sessions, registers the broker in each, and tells of both.

    Args:
        address: Where ZooKeeper is.
    """

    def __init__(self, address: ZooKeeperAddress) -> None:
        self._address = address
        self._listeners: SessionListeners | None = None
        self._session: ZooKeeperSession | None = None
        self._store: ZooKeeperStore | None = None
        self._essential: set[str] = set()
        self._registered_in: int | None = None
        self._is_expired = False
        self._changed = asyncio.Event()
        self._next_try_s = 0.0

    @property
    def store(self) -> ZooKeeperStore:
        """The store of the current session, or of the last one where that is over.

        Raises:
            LookupError: No session was opened yet.
        """
        if self._store is None:
            raise LookupError("no ZooKeeper session was opened yet")
        return self._store

    def abort(self) -> None:
        """End the session from another thread, for the watchdog."""
        if self._session is not None:
            self._session.abort()

    async def open(self) -> ZooKeeperStore:
        """Open the first session.

        Raises:
            StartError: No ZooKeeper answered within ``zookeeper.connection.timeout.ms``, or the connect
                string is malformed.
        """
        _log.info(f"Connecting to zookeeper on {self._address.connect}")
        try:
            return await self._connect()
        except ZooKeeperUnavailable as error:
            raise StartError(f"Cannot reach ZooKeeper: {error}") from error
        except ValueError as error:
            raise StartError(f"Invalid configuration: zookeeper.connect: {error}") from error

    async def join(self, registration: Registration, listeners: SessionListeners) -> BrokerEpoch:
        """Register for the first time.

        Raises:
            StartError: Another broker has the id or an address.
        """
        try:
            epoch = await self._register(registration)
        except NodeExists as error:
            raise StartError(f"Cannot register broker.id {registration.broker_id}: {error}") from error
        self._listeners = listeners
        await listeners.joined(self.store, epoch)
        return epoch

    async def stay(self, registration: Registration) -> None:
        """Register again whenever the session expires or the registration vanishes; runs until cancelled.

        Raises:
            NodeExists: Another broker has taken the id or an address meanwhile.
            InconsistentClusterIdError: ZooKeeper holds another cluster meanwhile.
        """
        while True:
            await self._changed.wait()
            self._changed.clear()
            listeners = self._listeners
            if listeners is None:
                raise LookupError("stay() before join()")
            if not self._is_expired:
                missing = await self._missing(registration)
                if not missing:
                    continue
                _log.warning(f"Deleted though the session lives: {', '.join(missing)}; registering again")
            await listeners.left()
            epoch = await self._rejoin(registration)
            await listeners.joined(self.store, epoch)
            # Who has deleted one node may be about to delete others, of which not all are watched.
            asyncio.get_running_loop().call_later(RECONNECT_PAUSE_S, self._changed.set)

    async def close(self) -> None:
        """End the session, and with it the registration."""
        self._listeners = None
        if self._session is not None:
            await self._session.close()

    async def _rejoin(self, registration: Registration) -> BrokerEpoch:
        while True:
            # Somebody may delete the node as often as it is made.
            await asyncio.sleep(max(0.0, self._next_try_s - time.monotonic()))
            self._next_try_s = time.monotonic() + RECONNECT_PAUSE_S
            try:
                if self._is_expired:
                    await self._connect()
                else:
                    # No broker is registered in this session: it must not keep the others from electing one.
                    await self.store.controller.give_up()
                await self._restore_parents(registration)
                return await self._register(registration)
            except (ZooKeeperUnavailable, ZooKeeperTimeout, SessionExpired, NoNode) as error:
                # Of these only the two that tell of no session need a new one.
                self._is_expired |= isinstance(error, (ZooKeeperUnavailable, SessionExpired))
                _log.warning(f"Cannot register again yet: {error}")

    async def _restore_parents(self, registration: Registration) -> None:
        """Make again what a start makes, in case all that ZooKeeper held was deleted."""
        cluster = self.store.cluster
        await cluster.create_persistent_paths()
        found = await cluster.cluster_id(registration.cluster_id)
        if found != registration.cluster_id:
            raise InconsistentClusterIdError(
                f"The Cluster ID {found} doesn't match stored clusterId {registration.cluster_id} in "
                "meta.properties. The broker is trying to join the wrong cluster. Configured "
                "zookeeper.connect may be wrong."
            )

    async def _missing(self, registration: Registration) -> list[str]:
        """The paths that are not what this broker made them; its registration is watched from here on."""
        session = self.store.session
        try:
            stat = await session.exists(registration.path, watch=True)
            missing = await self.store.cluster.missing_paths()
        except (ZooKeeperTimeout, SessionExpired) as error:
            # The connection's return, or the session's end, leads here again.
            _log.warning(f"Cannot look at {registration.path} now: {error}")
            return []
        if stat is None or stat.ephemeral_owner != session.id:
            missing.append(registration.path)
        return missing

    async def _connect(self) -> ZooKeeperStore:
        if self._session is not None:
            await self._session.close()
        self._is_expired = False
        self._session = await ZooKeeperSession.connect(
            self._address.connect,
            session_timeout_ms=self._address.session_timeout_ms,
            on_event=self._on_event,
            connect_timeout_ms=self._address.connection_timeout_ms,
        )
        self._store = ZooKeeperStore(self._session)
        return self._store

    async def _register(self, registration: Registration) -> BrokerEpoch:
        epoch = await self.store.brokers.register(
            registration.broker_id,
            registration.endpoints,
            registration.rack,
            now_ms=time.time_ns() // 1_000_000,
            log_dir_locks=registration.log_dir_locks(),
            former_session=self._registered_in,
        )
        self._registered_in = self.store.session.id
        self._essential = {registration.path, *paths.PERSISTENT}
        if await self._missing(registration):
            self._changed.set()  # it has vanished again just then
        _log.info(
            f"Registered broker {registration.broker_id} at path /brokers/ids/{registration.broker_id} with "
            f"addresses: {','.join(map(str, registration.endpoints))}, czxid (broker epoch): {epoch}"
        )
        return epoch

    def _on_event(self, event: ZooKeeperEvent) -> None:
        match event:
            case WatchEvent():
                if event.path in self._essential and event.change in (Change.DELETED, Change.UNKNOWN):
                    self._changed.set()
                if self._listeners is not None:
                    self._listeners.watched(event)
            case SessionEvent.DISCONNECTED:
                _log.warning(
                    f"The connection to ZooKeeper at {self._address.connect} was lost; "
                    f"the session is kept for {self._address.session_timeout_ms} ms"
                )
            case SessionEvent.RECONNECTED:
                _log.info(f"Connected to ZooKeeper at {self._address.connect} again, in the same session")
            case SessionEvent.EXPIRED:
                _log.warning(
                    f"The session with ZooKeeper at {self._address.connect} is over; opening a new one"
                )
                self._is_expired = True
                self._changed.set()
