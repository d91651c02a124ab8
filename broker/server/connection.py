"""One client connection: frames in, handlers called in order, answers out in order.

Kafka handles one request of a connection at a time. Here too, with one exception: requests of a pipelined API
(Produce) start as they come in while earlier ones of the same kind wait for their answers, so that an
idempotent producer's five batches are appended and replicated together. Their answers leave in the order of
the requests all the same. Nothing is read ahead beyond the buffer: while a complete request cannot start, or
the peer does not read its answers, the socket is not read either. A request starts when the connection's turn
has come (``fairness``); one that is longer than what each connection may hold is read when there is room for
all of it (``memory``).
"""

from __future__ import annotations

import asyncio
import socket
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import cast

import structlog

from barnabas.broker.replicas.turn import in_turns
from barnabas.broker.server.context import (
    Answer,
    Building,
    CloseConnectionError,
    Handler,
    Preparing,
    ServerContext,
)
from barnabas.broker.server.fairness import FairQueue, Share
from barnabas.broker.server.handlers import api_versions
from barnabas.broker.server.outgoing import Outgoing
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import (
    Chunk,
    Prefix,
    Request,
    UnreadableFrameError,
    decode,
    decode_in_pieces,
    encode,
    encode_in_pieces,
    read_prefix,
)
from barnabas.broker.wire.guard import HostileFrameError
from barnabas.broker.wire.pieces import Steps
from barnabas.broker.wire.receive import CHUNK_BYTES, ReceiveBuffer
from barnabas.cluster.runtime.collector import many_at_once
from barnabas.cluster.runtime.line_limit import LINES

MAX_IN_FLIGHT = 64
"""How many pipelined requests of one connection may wait for their answers."""

LONG_FRAME_BYTES = 4096
"""A frame at least this long is decoded in pieces: a shorter one cannot have too many elements."""

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
        claimed: What it has taken of the memory of requests, bytes.
        task: What computes the answer, where that takes time.
        chunks: The encoded answer (empty where there is none), or None while it is not known.
    """

    prefix: Prefix
    client_id: str | None
    pipelined: bool
    began: float
    size: int
    claimed: int = 0
    task: asyncio.Task[None] | None = None
    chunks: list[Chunk] | None = None


class ClientConnection(asyncio.BufferedProtocol):
    """The protocol of one accepted connection.

    Args:
        context: What the handlers are given.
        handlers: The handler of each API.
        listener: The name of the listener that accepted it.
        queue: Says when its requests are served.
        on_made: Called when it stands.
        on_lost: Called when it is gone.
    """

    def __init__(
        self,
        context: ServerContext,
        handlers: Mapping[ApiKey, Handler],
        listener: str,
        *,
        queue: FairQueue,
        on_made: Callable[[ClientConnection], None],
        on_lost: Callable[[ClientConnection], None],
    ) -> None:
        self._context = context
        self._handlers = handlers
        self._listener = listener
        self._queue = queue
        self.share = Share()
        self._on_made = on_made
        self._on_lost = on_lost
        self._input = ReceiveBuffer(context.settings.request_max_bytes)
        self._claimed = 0
        self._arriving = 0
        self._in_flight: deque[_InFlight] = deque()
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._outgoing: Outgoing | None = None
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
        self._on_made(self)
        self._outgoing = Outgoing(
            self._transport, self._context.answers, self._wake, self._unreadable, self._evicted
        )
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
            task, request.task = request.task, None
            if task is not None:
                task.cancel()
            self._give_back(request)
        self._in_flight.clear()
        self._give_back_claim()
        # The transport and the output refer to this connection, too. Without these cycles its memory is freed
        # now: a full garbage collection may be minutes away.
        outgoing, self._outgoing, self._transport = self._outgoing, None, None
        if outgoing is not None:
            outgoing.clear()
        self._input.close()
        self._note_arriving()
        self._on_lost(self)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Where the transport puts the next bytes."""
        del sizehint  # the frame that is coming in says how much it needs
        return self._input.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """Bytes have come in."""
        self._input.received(nbytes)
        self.last_active = self._loop.time()
        self._wake()
        self._note_arriving()

    def pause_writing(self) -> None:
        """The client does not read its answers."""
        if self._outgoing is not None:
            self._outgoing.paused()

    def resume_writing(self) -> None:
        """The client reads again."""
        if self._outgoing is not None:
            self.last_active = self._loop.time()
            self._outgoing.resumed()

    def release(self) -> None:
        """Give back the memory that a large request has reserved; for connections that have fallen silent."""
        if not self._in_flight:
            self._input.release()
            self._note_arriving()

    def _note_arriving(self) -> None:
        """Tell ``ArrivingMemory`` what the input holds beyond what each connection has."""
        held = self._input.capacity if self._input.capacity > CHUNK_BYTES and not self._closing else 0
        if held or self._arriving:
            self._arriving = held
            self._context.arriving.holds(self, held)

    def evict(self) -> None:
        """Give back the input, for the requests of others; close where a request has come in in part."""
        self._arriving = 0
        if self._input.is_empty:
            self._input.release()
            return
        self.close("its request comes in while memory is short", limit=self._context.arriving.limit)
        self.abort()

    def close(self, reason: str, **details: object) -> None:
        """Close after what was written has been sent; a line in the log says why, unless there are many.

        Args:
            reason: Why, in words of ours: it is the kind by which lines are limited.
            details: What the peer did.
        """
        if self._closing:
            return
        if LINES.allow(f"closing a client connection: {reason}"):
            logger.info(
                "closing a client connection",
                peer=self._peer,
                listener=self._listener,
                reason=reason,
                **details,
            )
        self._end()

    def _end(self) -> None:
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def expire(self, silent_ms: int, maximum_ms: int) -> None:
        """Close after too long a silence, now: a client that reads nothing would keep it open."""
        self.close("idle", silent_ms=silent_ms, maximum_ms=maximum_ms)
        self.abort()

    def abort(self) -> None:
        """Close now, without sending what waits."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def _wake(self) -> None:
        """Start the next request when it is this connection's turn, if it is here in whole and may start."""
        if self._startable() is None:
            return
        self._queue.ready(self)
        if self.share.is_queued:
            self._read(wanted=False)

    def serve(self) -> bool:
        """Start the next request; True where another one is here and may start."""
        startable = self._startable()
        if startable is None:
            return False
        prefix, frame = startable
        self._input.consume()
        is_claimed = self._claimed > 0
        try:
            self._start(prefix, frame)
            if is_claimed:
                self._input.give_away()
        except UnreadableFrameError as error:
            self.close("a frame that is no Kafka request", error=str(error))
        if self._startable() is None:
            return False
        self._read(wanted=False)
        return True

    def _startable(self) -> tuple[Prefix, memoryview] | None:
        """The next request, if it may start now. While there is no whole one, the socket is read."""
        if self._closing or self._transport is None or self._transport.is_closing():
            return None
        try:
            frame = self._input.frame()
            if frame is None:
                self._read(wanted=self._has_room())
                return None
            prefix = read_prefix(frame)
        except (HostileFrameError, UnreadableFrameError) as error:
            self.close("a frame that is no Kafka request", error=str(error))
            return None
        if self._may_start(prefix):
            return prefix, frame
        self._read(wanted=False)
        return None

    def _has_room(self) -> bool:
        """Whether the rest of the first frame may be read; where it may not, wait for memory."""
        memory, needed = self._context.requests, self._input.needed
        if not memory.is_bounded or self._claimed or needed <= CHUNK_BYTES:
            return True
        if not memory.take(needed, self._wake):
            return False
        self._claimed = needed
        return True

    def _give_back(self, request: _InFlight) -> None:
        """Give back the memory of a request whose content is not needed any more."""
        if request.claimed:
            claimed, request.claimed = request.claimed, 0
            self._context.requests.give_back(claimed)

    def _give_back_claim(self) -> None:
        """Give back the memory of a frame that nobody will read, and wait for none."""
        self._context.requests.forget(self._wake)
        claimed, self._claimed = self._claimed, 0
        if claimed:
            self._context.requests.give_back(claimed)

    def _take_up(self, in_flight: _InFlight) -> None:
        """The frame has become a request that will be answered."""
        in_flight.claimed, self._claimed = self._claimed, 0
        self._in_flight.append(in_flight)

    def _read(self, *, wanted: bool) -> None:
        if wanted == self._may_read or self._transport is None:
            return
        self._may_read = wanted
        if wanted:
            self._transport.resume_reading()
        else:
            self._transport.pause_reading()

    def _may_start(self, prefix: Prefix) -> bool:
        if self._outgoing is None or not self._outgoing.is_idle:
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
        in_flight = _InFlight(prefix, None, api.pipelined, self._loop.time(), len(frame))
        if len(frame) < LONG_FRAME_BYTES:
            request = decode(frame, self._listener)
        else:
            steps = decode_in_pieces(frame, self._listener)
            try:
                next(steps)
            except StopIteration as decoded:
                request = decoded.value
            else:
                self._input.give_away()
                # The next request of the connection must not overtake it.
                in_flight.pipelined = False
                self._take_up(in_flight)
                in_flight.task = self._loop.create_task(self._finish_long(in_flight, steps))
                return
        in_flight.client_id = request.client_id
        self._take_up(in_flight)
        self._handle(in_flight, request)

    def _handle(self, in_flight: _InFlight, request: Request) -> None:
        try:
            answer = self._handlers[request.api.key](self._context, request)
            if isinstance(answer, Preparing):
                in_flight.pipelined = False
                in_flight.task = self._loop.create_task(self._finish(in_flight, answer.work))
            elif isinstance(answer, Awaitable):
                if in_flight.pipelined:
                    self._give_back(in_flight)
                in_flight.task = self._loop.create_task(self._finish(in_flight, answer))
            else:
                self._settle(in_flight, self._encoded(in_flight, answer))
        except CloseConnectionError as error:
            self.close(error.reason, client_id=in_flight.client_id, **error.details)
        except Exception as error:  # noqa: BLE001  (one request's error must not be another's)
            self._fail(in_flight, error)

    async def _finish_long(self, in_flight: _InFlight, steps: Steps[Request]) -> None:
        with many_at_once():
            await self._finish(in_flight, self._decode_and_handle(in_flight, steps))

    async def _decode_and_handle(self, in_flight: _InFlight, steps: Steps[Request]) -> Answer:
        """The answer to a request of many elements, which is decoded in turns with others."""
        request = await in_turns(steps)
        in_flight.client_id = request.client_id
        answer = self._handlers[request.api.key](self._context, request)
        if isinstance(answer, Preparing):
            answer = await answer.work
        return await answer if isinstance(answer, Awaitable) else answer

    def _refuse(self, prefix: Prefix) -> None:
        """An API or version that is not served: only ApiVersions has an answer for that (KIP-511)."""
        if prefix.api_key != ApiKey.API_VERSIONS:
            self.close(
                "an API or version that is not served", api_key=prefix.api_key, version=prefix.api_version
            )
            return
        in_flight = _InFlight(prefix, None, pipelined=False, began=self._loop.time(), size=0)
        self._take_up(in_flight)
        self._settle(in_flight, self._encoded(in_flight, api_versions.unsupported_version()))

    async def _finish(
        self, in_flight: _InFlight, answer: Awaitable[Answer] | Awaitable[Answer | Awaitable[Answer]]
    ) -> None:
        try:
            found = await answer
            if isinstance(found, Awaitable):
                in_flight.pipelined = APIS[in_flight.prefix.api_key].pipelined
                self._give_back(in_flight)
                self._wake()
                found = await found
            if found is None or in_flight.pipelined:
                chunks = self._encoded(in_flight, found)
            elif isinstance(found, Building):
                async with self._context.building:
                    chunks = await self._encoded_in_turns(in_flight, await found.work())
            else:
                chunks = await self._encoded_in_turns(in_flight, found)
            self._settle(in_flight, chunks)
        except CloseConnectionError as error:
            self.close(error.reason, client_id=in_flight.client_id, **error.details)
        except UnreadableFrameError as error:
            self.close("a frame that is no Kafka request", error=str(error))
        except Exception as error:  # noqa: BLE001  (one request's error must not be another's)
            self._fail(in_flight, error)
        else:
            self._wake()

    @staticmethod
    def _encoded(in_flight: _InFlight, answer: Answer) -> list[Chunk]:
        """An answer of few elements, or none, as bytes."""
        return [] if answer is None else encode(in_flight.prefix.correlation_id, answer)

    @staticmethod
    async def _encoded_in_turns(in_flight: _InFlight, answer: Answer) -> list[Chunk]:
        return await in_turns(encode_in_pieces(in_flight.prefix.correlation_id, answer))

    def _settle(self, in_flight: _InFlight, chunks: list[Chunk]) -> None:
        """The answer is known: send it, and those behind it that have waited for it."""
        in_flight.chunks = chunks
        self._give_back(in_flight)
        self._context.meter.answered(
            in_flight.prefix.api_key,
            self._loop.time() - in_flight.began,
            in_flight.size,
            sum(map(len, chunks)),
        )
        ready: list[Chunk] = []
        while self._in_flight and (done := self._in_flight[0].chunks) is not None:
            self._in_flight.popleft()
            ready += done
        if ready and self._outgoing is not None and not self._closing:
            self._outgoing.send(ready)
            self.last_active = self._loop.time()

    def _unreadable(self, error: OSError) -> None:
        """Records whose answer has begun cannot be read any more, so the answer has no end."""
        self.close("the records of an answer cannot be read", error=str(error))

    def _evicted(self) -> None:
        """The answers of all connections are too many, and this client has read nothing for the longest."""
        self.close("its answers wait while memory is short", limit=self._context.answers.limit)
        self.abort()

    def _fail(self, in_flight: _InFlight, error: Exception) -> None:
        """Close after an error of a handler that nobody foresaw."""
        described = self._described(in_flight)
        if LINES.allow(f"a request handler failed: {described['api']}"):
            logger.error("a request handler failed", exc_info=error, **described)
        self._end()

    def _described(self, in_flight: _InFlight) -> dict[str, object]:
        return {
            "api": ApiKey(in_flight.prefix.api_key).name,
            "version": in_flight.prefix.api_version,
            "client_id": in_flight.client_id,
            "peer": self._peer,
        }


def _address(peername: object) -> str:
    return f"{peername[0]}:{peername[1]}" if isinstance(peername, tuple) else str(peername)
