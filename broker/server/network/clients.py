"""The listener for Kafka clients."""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Protocol

import structlog

from barnabas.broker.core.sasl.authentication import Mechanism, SaslAuthentication
from barnabas.broker.server.context import Handler, ServerContext
from barnabas.broker.server.fairness import FairQueue
from barnabas.broker.server.network.acceptor import Acceptor, ConnectionQuotas
from barnabas.broker.server.network.connection import ClientConnection
from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.server.security.handshakes import Handshakes
from barnabas.broker.server.security.tls_transport import TlsTransport
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.model.principal import KafkaPrincipal
from barnabas.cluster.runtime.allocator import return_freed_memory
from barnabas.cluster.runtime.line_limit import LINES

_log = structlog.get_logger("org.apache.kafka.common.network.Selector")

AUTHENTICATION_SECONDS = 60.0
"""The longest TLS handshake or authentication, unless ``connections.max.idle.ms`` is shorter."""

SWEEP_SECONDS = 5.0
"""The interval in seconds between two checks for silent connections."""

ENDED_AT_ONCE = 100
"""The most connections and requests ended in one pass of the event loop.

The next pass closes their sockets and ends their tasks. Both passes together take 40 us for each.
"""

MANY_GONE = 1_000
"""The number of closed connections after which the memory that they have left is returned to the system."""


class NewTls(Protocol):
    """The TLS of new connections (``server.listener_tls.ListenerTls``)."""

    @property
    def context(self) -> ssl.SSLContext:
        """The key, and what is accepted."""
        ...

    def principal_of(self, transport: TlsTransport) -> KafkaPrincipal:
        """Return who a client is.

        Raises:
            HandshakeError: The client is refused.
        """
        ...


class ClientListener:
    """The acceptor of client connections on one of the broker's listeners.

    Args:
        context: Passed to the handlers.
        quotas: The connections of all listeners, and the limits on them.
        name: The listener's name, such as ``PLAINTEXT``; clients get the brokers' endpoints of that name.
        handlers: The handler of each API.
        mechanisms: The SASL mechanisms by name; None for a listener without SASL.
        tls: The TLS of new connections; None for a listener without TLS.
    """

    def __init__(
        self,
        context: ServerContext,
        quotas: ConnectionQuotas,
        name: str,
        handlers: Mapping[ApiKey, Handler] = HANDLERS,
        *,
        mechanisms: Mapping[str, Mechanism] | None = None,
        tls: NewTls | None = None,
    ) -> None:
        self._context = context
        self._quotas = quotas
        self._name = name
        self._handlers = handlers
        self._mechanisms = mechanisms
        self._tls = tls
        self._handshakes: set[TlsTransport] = set()
        self._queue = FairQueue()
        self._handshake_turns = Handshakes(self._queue)
        self._connections: set[ClientConnection] = set()
        self._ended: deque[ClientConnection] = deque()
        self._ending: asyncio.Task[None] | None = None
        self._acceptor: Acceptor | None = None
        self._beginning: set[asyncio.Task[None]] = set()
        self._sweep: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Future[None] | None = None
        self._is_stopping = False
        self._gone_since_return = 0

    @property
    def connection_count(self) -> int:
        """The number of connected clients."""
        return len(self._connections)

    def start_on(self, listening: socket.socket) -> None:
        """Accept on a socket that was bound before; the listener closes it."""
        loop = asyncio.get_running_loop()
        self._acceptor = Acceptor(listening, self._name, self._quotas, self._serve)
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look_for_silence)

    def _serve(self, accepted: socket.socket, host: str) -> None:
        task = asyncio.get_running_loop().create_task(self._begin(accepted, host), name="client connection")
        self._beginning.add(task)
        task.add_done_callback(self._beginning.discard)

    async def _begin(self, accepted: socket.socket, host: str) -> None:
        """Register an accepted connection with the loop, or close it if its client has gone."""
        handshake: TlsTransport | None = None
        try:
            accepted.settimeout(0)
            accepted.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if self._tls is not None:
                handshake = self._handshake(self._tls, host)
            protocol = partial(self._connection, host) if handshake is None else lambda: handshake
            await asyncio.get_running_loop().connect_accepted_socket(protocol, accepted)
        except OSError:
            accepted.close()
            if handshake is not None:
                self._handshakes.discard(handshake)
            self._quotas.closed(self._name, host)

    def _handshake(self, tls: NewTls, host: str) -> TlsTransport:
        """Return the protocol of a connection that begins with a handshake."""
        handshake = TlsTransport(
            tls.context,
            max(self._authentication_s, 0.001),
            partial(self._established, tls, host),
            partial(self._failed, host),
            self._handshake_turns,
        )
        self._handshakes.add(handshake)
        return handshake

    @property
    def _authentication_s(self) -> float:
        max_idle_s = self._context.settings.max_idle_ms / 1000
        return AUTHENTICATION_SECONDS if max_idle_s < 0 else min(AUTHENTICATION_SECONDS, max_idle_s)

    def _established(self, tls: NewTls, host: str, transport: TlsTransport) -> ClientConnection:
        """Return the connection of a client whose handshake has ended.

        Raises:
            HandshakeError: The client has no name, or uses a cipher suite that is not to be used.
        """
        principal = tls.principal_of(transport)
        connection = self._connection(host)
        connection.principal = principal
        self._handshakes.discard(transport)
        if self._mechanisms is None:
            self._context.meter.connections.authenticated(self._name, is_again=False)
        return connection

    def _failed(self, host: str, transport: TlsTransport, reason: str) -> None:
        """Note that a client was lost before its handshake had ended."""
        self._handshakes.discard(transport)
        self._gone(host)
        if self._is_stopping:
            return
        self._context.meter.connections.failed(self._name, is_again=False)
        if LINES.allow("failed authentication: SSL handshake"):
            _log.info(
                f"Failed authentication with {transport.peer} (SSL handshake failed)",
                listener=self._name,
                reason=reason,
            )

    def _connection(self, host: str) -> ClientConnection:
        return ClientConnection(
            self._context,
            self._handlers,
            self._name,
            queue=self._queue,
            on_made=self._made,
            on_ended=self._end,
            on_lost=partial(self._lost, host),
            authentication=None if self._mechanisms is None else SaslAuthentication(self._mechanisms),
        )

    def _made(self, connection: ClientConnection) -> None:
        self._connections.add(connection)
        self._context.meter.connections.connected(self._name)
        if self._is_stopping:
            # It was accepted just before the stop, and the loop reaches it only now.
            connection.abort()

    def _end(self, connection: ClientConnection) -> None:
        """Let a connection end when its turn comes: the loop may report the ends of thousands in one pass."""
        self._ended.append(connection)
        if self._ending is None:
            self._ending = asyncio.get_running_loop().create_task(self._end_in_turns())

    async def _end_in_turns(self) -> None:
        try:
            while self._ended:
                count = 0
                while self._ended and count < ENDED_AT_ONCE:
                    count += 1 + self._ended.popleft().end()
                await asyncio.sleep(0)
        finally:
            self._ending = None

    def _lost(self, host: str, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        self._gone(host)

    def _gone(self, host: str) -> None:
        """Stop counting a connection, and wake the task that waits for the end of all connections."""
        self._quotas.closed(self._name, host)
        self._gone_since_return += 1
        is_last = not self._connections and not self._handshakes
        if is_last and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _look_for_silence(self) -> None:
        """Close connections that have been silent too long, or unknown; free the buffers of silent ones."""
        loop = asyncio.get_running_loop()
        max_idle_ms, authentication_s = self._context.settings.max_idle_ms, self._authentication_s
        for connection in tuple(self._connections):
            silent_ms = (loop.time() - connection.last_active) * 1000
            if connection.is_unknown and loop.time() - connection.made_at > authentication_s:
                self._context.meter.connections.failed(self._name, is_again=False)
                connection.close("the client has not authenticated in time")
                connection.abort()
            elif 0 <= max_idle_ms < silent_ms and not connection.is_waiting:
                connection.expire(int(silent_ms), max_idle_ms)
            elif silent_ms > 1000 * SWEEP_SECONDS:
                connection.release()
        self._close_excess()
        if self._gone_since_return >= MANY_GONE:
            self._gone_since_return = 0
            return_freed_memory()
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look_for_silence)

    def _close_excess(self) -> None:
        """Close the least recently used connections above a ``max.connections`` that was lowered."""
        excess = self._quotas.excess
        if excess:
            for connection in sorted(self._connections, key=lambda each: each.last_active)[:excess]:
                connection.close("max.connections was lowered")
                connection.abort()

    async def stop(self) -> None:
        """Stop accepting, close every connection, and return when all are closed."""
        self._is_stopping = True
        if self._sweep is not None:
            self._sweep.cancel()
        if self._acceptor is not None:
            self._acceptor.close()
        if self._beginning:
            await asyncio.wait(self._beginning)
        if self._connections or self._handshakes:
            self._all_gone = asyncio.get_running_loop().create_future()
            for connection in tuple(self._connections):
                connection.abort()
            for handshake in tuple(self._handshakes):
                handshake.abort()
            await self._all_gone
        if self._ending is not None:
            await self._ending
