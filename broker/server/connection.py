"""One client connection: frames in, handlers called in order, answers out in order.

Kafka handles one request of a connection at a time. Here too, with one exception: requests of a pipelined API
(Produce) start as they come in while earlier ones of the same kind wait for their answers, so that an
idempotent producer's five batches are appended and replicated together. Their answers leave in the order of
the requests all the same. Nothing is read ahead beyond the buffer: while a complete request cannot start, or
the peer does not read its answers, the socket is not read either.
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

import structlog

from broker.server.context import Answer, CloseConnectionError, Handler, ServerContext
from broker.server.handlers import api_versions
from broker.wire.apis import APIS, ApiKey
from broker.wire.frames import Chunk, Prefix, UnreadableFrameError, decode, encode, read_prefix
from broker.wire.guard import HostileFrameError
from broker.wire.receive import ReceiveBuffer

MAX_IN_FLIGHT = 64
"""How many pipelined requests of one connection may wait for their answers."""

WRITE_BUFFER_BYTES = 1_048_576
"""While more than this waits to be sent to a client, its next request is not started."""

logger = structlog.get_logger(__name__)


@dataclass(slots=True)
class _InFlight:
    """A request whose answer has not been sent.

    Attributes:
        prefix: Its first eight bytes.
        client_id: What the client calls itself, or None.
        pipelined: Whether the next request may start before it is answered.
        began: The loop's time at which it started.
        size: The bytes of its frame.
        task: What computes the answer, where that takes time.
        chunks: The encoded answer (empty where there is none), or None while it is not known.
    """

    prefix: Prefix
    client_id: str | None
    pipelined: bool
    began: float
    size: int
    task: asyncio.Task[None] | None = None
    chunks: list[Chunk] | None = None


class ClientConnection(asyncio.BufferedProtocol):
    """The protocol of one accepted connection.

    Args:
        context: What the handlers are given.
        handlers: The handler of each API.
        listener: The name of the listener that accepted it.
        on_made: Called when it stands; False means that it is one too many.
        on_lost: Called when it is gone.
    """

    def __init__(
        self,
        context: ServerContext,
        handlers: Mapping[ApiKey, Handler],
        listener: str,
        on_made: Callable[[ClientConnection], bool],
        on_lost: Callable[[ClientConnection], None],
    ) -> None:
        self._context = context
        self._handlers = handlers
        self._listener = listener
        self._on_made = on_made
        self._on_lost = on_lost
        self._input = ReceiveBuffer(context.settings.request_max_bytes)
        self._in_flight: deque[_InFlight] = deque()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._may_write = True
        self._may_read = True
        self._closing = False
        self._peer = "unknown"
        self.last_active = self._loop.time()
        """The loop's time at which bytes last came in or an answer went out."""

    @property
    def is_waiting(self) -> bool:
        """Whether the client waits for an answer."""
        return bool(self._in_flight)

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The connection stands."""
        self._transport = cast("asyncio.Transport", transport)
        self._peer = _address(transport.get_extra_info("peername"))
        if not self._on_made(self):
            self.close("too many connections", maximum=self._context.max_connections)
            return
        self._transport.set_write_buffer_limits(high=WRITE_BUFFER_BYTES)
        self._set_socket_options(transport.get_extra_info("socket"))

    def _set_socket_options(self, sock: socket.socket) -> None:
        settings = self._context.settings
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, size in (
            (socket.SO_SNDBUF, settings.send_buffer_bytes),
            (socket.SO_RCVBUF, settings.receive_buffer_bytes),
        ):
            if size >= 0:
                sock.setsockopt(socket.SOL_SOCKET, option, size)

    def connection_lost(self, exc: Exception | None) -> None:
        """The connection is gone: nobody waits for the answers any more."""
        del exc  # how it ended does not matter
        self._closing = True
        for request in self._in_flight:
            if request.task is not None:
                request.task.cancel()
        self._in_flight.clear()
        self._on_lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport puts the next bytes."""
        del sizehint  # the frame that is coming in says how much it needs
        return self._input.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come in."""
        self._input.received(nbytes)
        self.last_active = self._loop.time()
        self._start_requests()

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        self._may_write = False

    def resume_writing(self) -> None:
        """The client reads again."""
        self._may_write = True
        self._start_requests()

    def release(self) -> None:
        """Give back the memory that a large request has reserved; for connections that have fallen silent."""
        if not self._in_flight:
            self._input.release()

    def close(self, reason: str, **details: object) -> None:
        """Close after what was written has been sent, with one line in the log that says why."""
        if self._closing:
            return
        logger.info(
            "closing a client connection", peer=self._peer, listener=self._listener, reason=reason, **details
        )
        self._end()

    def _end(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def abort(self) -> None:
        """Close now, without sending what waits; for the broker's own end."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _start_requests(self) -> None:
        """Start every request that has come in whole and may start now."""
        try:
            while not self._closing:
                frame = self._input.frame()
                if frame is None:
                    self._read(wanted=True)
                    return
                prefix = read_prefix(frame)
                if not self._may_start(prefix):
                    self._read(wanted=False)
                    return
                self._input.consume()
                self._start(prefix, frame)
        except (HostileFrameError, UnreadableFrameError) as error:
            self.close("a frame that is no Kafka request", error=str(error))

    def _read(self, *, wanted: bool) -> None:
        if wanted == self._may_read or self._transport is None:
            return
        self._may_read = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _may_start(self, prefix: Prefix) -> bool:
        if not self._may_write:
            return False
        if not self._in_flight:
            return True
        api = APIS.get(prefix.api_key)
        return (
            api is not None
            and api.pipelined
            and self._in_flight[-1].pipelined
            and len(self._in_flight) < MAX_IN_FLIGHT
        )

    def _start(self, prefix: Prefix, frame: memoryview) -> None:
        api = APIS.get(prefix.api_key)
        if api is None or not api.serves(prefix.api_version):
            self._refuse(prefix)
            return
        request = decode(frame, self._listener)
        in_flight = _InFlight(prefix, request.client_id, api.pipelined, self._loop.time(), len(frame))
        self._in_flight.append(in_flight)
        try:
            answer = self._handlers[api.key](self._context, request)
            if isinstance(answer, Awaitable):
                in_flight.task = self._loop.create_task(self._finish(in_flight, answer))
            else:
                self._settle(in_flight, answer)
        except CloseConnectionError as error:
            self.close(str(error), client_id=in_flight.client_id)
        except Exception:
            logger.exception("a request handler failed", **self._described(in_flight))
            self._end()

    def _refuse(self, prefix: Prefix) -> None:
        """An API or version that is not served: only ApiVersions has an answer for that (KIP-511)."""
        if prefix.api_key != ApiKey.API_VERSIONS:
            self.close(
                "an API or version that is not served", api_key=prefix.api_key, version=prefix.api_version
            )
            return
        in_flight = _InFlight(prefix, None, pipelined=False, began=self._loop.time(), size=0)
        self._in_flight.append(in_flight)
        self._settle(in_flight, api_versions.unsupported_version())

    async def _finish(self, in_flight: _InFlight, answer: Awaitable[Answer]) -> None:
        try:
            self._settle(in_flight, await answer)
        except CloseConnectionError as error:
            self.close(str(error), client_id=in_flight.client_id)
        except Exception:
            logger.exception("a request handler failed", **self._described(in_flight))
            self._end()
        else:
            self._start_requests()

    def _settle(self, in_flight: _InFlight, answer: Answer) -> None:
        """The answer is known: send it, and those behind it that have waited for it."""
        in_flight.chunks = [] if answer is None else encode(in_flight.prefix.correlation_id, answer)
        self._context.meter.answered(
            in_flight.prefix.api_key,
            self._loop.time() - in_flight.began,
            in_flight.size,
            sum(map(len, in_flight.chunks)),
        )
        while self._in_flight and (chunks := self._in_flight[0].chunks) is not None:
            self._in_flight.popleft()
            if chunks and self._transport is not None and not self._closing:
                self._transport.writelines(chunks)
                self.last_active = self._loop.time()

    def _described(self, in_flight: _InFlight) -> dict[str, object]:
        return {
            "api": ApiKey(in_flight.prefix.api_key).name,
            "version": in_flight.prefix.api_version,
            "client_id": in_flight.client_id,
            "peer": self._peer,
        }


def _address(peername: object) -> str:
    return f"{peername[0]}:{peername[1]}" if isinstance(peername, tuple) else str(peername)
