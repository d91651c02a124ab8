"""This broker's place in the cluster: one ZooKeeper session after another, a registration in each."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from broker.errors import StartError
from cluster.model.brokers import Endpoint
from cluster.model.epochs import BrokerEpoch
from cluster.model.ids import BrokerId
from cluster.zk.errors import NodeExists, SessionExpired, ZooKeeperTimeout, ZooKeeperUnavailable
from cluster.zk.operations import SessionEvent, WatchEvent, ZooKeeperEvent
from cluster.zk.session import ZooKeeperSession
from cluster.zk.store import ZooKeeperStore

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
    """

    broker_id: BrokerId
    endpoints: tuple[Endpoint, ...]
    rack: str | None = None


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
        expired: The session is over; the next one is opened when this returns, so whatever holds by the grace
            of the old session (the controllership) is given up in it.
        joined: This broker is registered in a new session.
    """

    watched: Callable[[WatchEvent], None]
    expired: Callable[[], Awaitable[None]]
    joined: Callable[[ZooKeeperStore, BrokerEpoch], Awaitable[None]]


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
        self._expired = asyncio.Event()

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
        """Open a new session and register again whenever the session expires; runs until cancelled.

        Raises:
            NodeExists: Another broker has taken the id or an address meanwhile.
        """
        while True:
            await self._expired.wait()
            listeners = self._listeners
            if listeners is None:
                raise LookupError("stay() before join()")
            await listeners.expired()
            epoch = await self._rejoin(registration)
            await listeners.joined(self.store, epoch)

    async def close(self) -> None:
        """End the session, and with it the registration."""
        self._listeners = None
        if self._session is not None:
            await self._session.close()

    async def _rejoin(self, registration: Registration) -> BrokerEpoch:
        while True:
            try:
                await self._connect()
                return await self._register(registration)
            except (ZooKeeperUnavailable, ZooKeeperTimeout, SessionExpired) as error:
                _log.warning(f"Cannot register again yet: {error}")
                await asyncio.sleep(RECONNECT_PAUSE_S)

    async def _connect(self) -> ZooKeeperStore:
        if self._session is not None:
            await self._session.close()
        self._expired.clear()
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
            holds_endpoints=True,
        )
        _log.info(
            f"Registered broker {registration.broker_id} at path /brokers/ids/{registration.broker_id} with "
            f"addresses: {','.join(map(str, registration.endpoints))}, czxid (broker epoch): {epoch}"
        )
        return epoch

    def _on_event(self, event: ZooKeeperEvent) -> None:
        match event:
            case WatchEvent():
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
                self._expired.set()
