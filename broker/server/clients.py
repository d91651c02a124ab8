"""The listener for Kafka clients."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Mapping

from broker.server.connection import ClientConnection
from broker.server.context import Handler, ServerContext
from broker.server.registry import HANDLERS
from broker.wire.apis import ApiKey

SWEEP_SECONDS = 5.0
"""How often silent connections are looked for."""


class ClientListener:
    """Accepts client connections on one of the broker's listeners.

    Args:
        context: What the handlers are given.
        name: The listener's name, such as ``PLAINTEXT``; clients are told of the brokers' endpoints of that
            name.
        handlers: The handler of each API.
    """

    def __init__(
        self, context: ServerContext, name: str, handlers: Mapping[ApiKey, Handler] = HANDLERS
    ) -> None:
        self._context = context
        self._name = name
        self._handlers = handlers
        self._connections: set[ClientConnection] = set()
        self._server: asyncio.Server | None = None
        self._sweep: asyncio.TimerHandle | None = None
        self._all_gone: asyncio.Future[None] | None = None
        self._is_stopping = False

    @property
    def connection_count(self) -> int:
        """How many clients are connected now."""
        return len(self._connections)

    async def start_on(self, listening: socket.socket) -> None:
        """Accept on a socket that was bound before; it is closed with the listener."""
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(self._accept, sock=listening)
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look_for_silence)

    def _accept(self) -> ClientConnection:
        return ClientConnection(self._context, self._handlers, self._name, self._made, self._lost)

    def _made(self, connection: ClientConnection) -> bool:
        if len(self._connections) >= self._context.max_connections:
            return False
        self._connections.add(connection)
        if self._is_stopping:
            # It was accepted just before, and the loop comes to it only now.
            connection.abort()
        return True

    def _lost(self, connection: ClientConnection) -> None:
        self._connections.discard(connection)
        if not self._connections and self._all_gone is not None and not self._all_gone.done():
            self._all_gone.set_result(None)

    def _look_for_silence(self) -> None:
        """Close connections that have been silent for too long, and take back the memory of silent ones."""
        loop = asyncio.get_running_loop()
        max_idle_ms = self._context.settings.max_idle_ms
        for connection in tuple(self._connections):
            silent_ms = (loop.time() - connection.last_active) * 1000
            if 0 <= max_idle_ms < silent_ms and not connection.is_waiting:
                connection.close("idle", silent_ms=int(silent_ms), maximum_ms=max_idle_ms)
            elif silent_ms > 1000 * SWEEP_SECONDS:
                connection.release()
        self._sweep = loop.call_later(SWEEP_SECONDS, self._look_for_silence)

    async def stop(self) -> None:
        """Accept no more, close every connection, and return when they are gone."""
        self._is_stopping = True
        if self._sweep is not None:
            self._sweep.cancel()
        if self._server is not None:
            self._server.close()
        if self._connections:
            self._all_gone = asyncio.get_running_loop().create_future()
            for connection in tuple(self._connections):
                connection.abort()
            await self._all_gone
