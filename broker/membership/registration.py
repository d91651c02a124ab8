"""The broker's ZooKeeper sessions, one after another, and its registration in each.

The registration is watched. If somebody deletes it, or one of the persistent parents that every broker
creates at its start, a live broker creates them again and registers again in the same session. Before that it
resigns as controller, because the watches of the deleted nodes are gone.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from barnabas.broker.config.start_error import StartError
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.client.errors import (
    NodeExists,
    NoNode,
    SessionExpired,
    ZooKeeperAuthFailed,
    ZooKeeperTimeout,
    ZooKeeperUnavailable,
)
from barnabas.cluster.zk.client.operations import Change, SessionEvent, WatchEvent, ZooKeeperEvent
from barnabas.cluster.zk.client.security import UNSECURED, ZooKeeperSecurity
from barnabas.cluster.zk.client.session import ZooKeeperSession
from barnabas.cluster.zk.schema import paths
from barnabas.cluster.zk.store import ZooKeeperStore

_log = structlog.get_logger(__name__)

RECONNECT_PAUSE_S = 1.0
"""Pause between two attempts to open a session, seconds (Kafka: ``ZooKeeperClient.RetryBackoffMs``)."""


@dataclass(frozen=True, slots=True)
class Registration:
    """The content of this broker's registration.

    Attributes:
        broker_id: Its broker.id.
        endpoints: The advertised listeners.
        rack: Its broker.rack, or None.
        cluster_id: The cluster id that it started with.
        log_dir_locks: Returns the locks of log directories that this process holds now.
    """

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None
    cluster_id: str
    log_dir_locks: Callable[[], frozenset[str]]

    @property
    def path(self) -> str:
        """The path of the registration."""
        return paths.broker(self.broker_id)


@dataclass(frozen=True, slots=True)
class ZooKeeperAddress:
    """The place of ZooKeeper, and the terms of sessions.

    Attributes:
        connect: The connect string.
        session_timeout_ms: The timeout of sessions.
        connection_timeout_ms: The timeout of an attempt to open a session.
        security: The login and TLS.
        waits: Whether the first attempt is repeated until it succeeds (``zookeeper.connection.wait``).
    """

    connect: str
    session_timeout_ms: int
    connection_timeout_ms: int
    security: ZooKeeperSecurity = UNSECURED
    waits: bool = False


@dataclass(frozen=True, slots=True)
class SessionListeners:
    """The callbacks of `Membership`.

    Attributes:
        watched: Called when a watched path has changed.
        left: Called when the broker is no longer registered, because its session expired or its node was
            deleted. The broker registers again when this returns, so it must give up everything that depends
            on the old registration, such as being controller.
        joined: Called when the broker is registered.
    """

    watched: Callable[[WatchEvent], None]
    left: Callable[[], Awaitable[None]]
    joined: Callable[[ZooKeeperStore, BrokerEpoch], Awaitable[None]]


class InconsistentClusterIdError(Exception):
    """The cluster id in ZooKeeper is not that of the log directories (``InconsistentClusterIdException``)."""


class Membership:
    """Opens ZooKeeper sessions and registers the broker in each.

    Args:
        address: The ZooKeeper to connect to.
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
        """The store of the current session, or of the last one if that has expired.

        Raises:
            LookupError: No session has been opened yet.
        """
        if self._store is None:
            raise LookupError("no ZooKeeper session was opened yet")
        return self._store

    @property
    def is_connected(self) -> bool:
        """Return whether there is a session with a connection to ZooKeeper."""
        return self._session is not None and self._session.is_connected

    def abort(self) -> None:
        """End the session from another thread (the watchdog's)."""
        if self._session is not None:
            self._session.abort()

    async def open(self) -> ZooKeeperStore:
        """Open the first session.

        Raises:
            StartError: No ZooKeeper answered within ``zookeeper.connection.timeout.ms`` and
                ``zookeeper.connection.wait`` is false, the login was refused, or the connect string is
                malformed.
        """
        _log.info(f"Connecting to zookeeper on {self._address.connect}")
        while True:
            try:
                return await self._connect()
            except ZooKeeperUnavailable as error:
                if isinstance(error, ZooKeeperAuthFailed) or not self._address.waits:
                    raise StartError(f"Cannot reach ZooKeeper of zookeeper.connect: {error}") from error
                _log.warning(f"Waiting for ZooKeeper of zookeeper.connect: {error}")
            except ValueError as error:
                raise StartError(f"Invalid configuration: zookeeper.connect: {error}") from error

    async def join(self, registration: Registration, listeners: SessionListeners) -> BrokerEpoch:
        """Register for the first time, in a new session if the first one has expired meanwhile.

        Raises:
            StartError: Another broker has the id or an address.
        """
        try:
            epoch = await self._join(registration)
        except NodeExists as error:
            raise StartError(f"Cannot register broker.id {registration.broker_id}: {error}") from error
        self._listeners = listeners
        await listeners.joined(self.store, epoch)
        return epoch

    async def _join(self, registration: Registration) -> BrokerEpoch:
        try:
            return await self._register(registration)
        except SessionExpired as error:
            _log.warning(f"The session ended before the broker registered: {error}; opening a new one")
            self._is_expired = True
            return await self._rejoin(registration)

    async def stay(self, registration: Registration) -> None:
        """Register again whenever the session expires or the registration vanishes; runs until cancelled.

        Raises:
            NodeExists: Another broker has registered the id or an address meanwhile.
            InconsistentClusterIdError: The cluster id in ZooKeeper has changed.
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
            # More deletions may follow, also of nodes that are not watched; look again after a pause.
            asyncio.get_running_loop().call_later(RECONNECT_PAUSE_S, self._changed.set)

    async def close(self) -> None:
        """End the session; ZooKeeper then deletes the registration."""
        self._listeners = None
        if self._session is not None:
            await self._session.close()

    async def _rejoin(self, registration: Registration) -> BrokerEpoch:
        while True:
            # The pause bounds the rate if somebody deletes the node every time.
            await asyncio.sleep(max(0.0, self._next_try_s - time.monotonic()))
            self._next_try_s = time.monotonic() + RECONNECT_PAUSE_S
            try:
                if self._is_expired:
                    await self._connect()
                else:
                    # A session without a registered broker must not own /controller: it blocks the election.
                    await self.store.controller.give_up()
                await self._restore_parents(registration)
                return await self._register(registration)
            except (ZooKeeperUnavailable, ZooKeeperTimeout, SessionExpired, NoNode) as error:
                # Only these two errors mean that there is no session; other errors do not require a new
                # one.
                self._is_expired |= isinstance(error, (ZooKeeperUnavailable, SessionExpired))
                _log.warning(f"Cannot register again yet: {error}")

    async def _restore_parents(self, registration: Registration) -> None:
        """Create the persistent parents again, in case all of ZooKeeper's content was deleted."""
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
        """Return the paths that were deleted or replaced, and set a watch on the registration."""
        session = self.store.session
        try:
            stat = await session.exists(registration.path, watch=True)
            missing = await self.store.cluster.missing_paths()
        except (ZooKeeperTimeout, SessionExpired) as error:
            # A reconnect or the session's expiration leads here again.
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
            security=self._address.security,
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
            self._changed.set()  # it was deleted again in between
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
