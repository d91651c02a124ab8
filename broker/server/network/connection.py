"""One client connection: bytes in, cut into frames; encoded answers out.

``RequestPipeline`` decodes, handles and answers the frames. Nothing is read ahead beyond the buffer: while a
complete request cannot start, or the peer does not read its answers, the socket is not read either. A request
starts when the connection has its turn (``fairness``). One that is longer than the buffer of an idle
connection is read when there is memory for all of it (``memory``).
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Mapping
from math import inf
from time import monotonic
from typing import cast

import structlog

from barnabas.broker.core.sasl.authentication import SaslAuthentication
from barnabas.broker.server.context import Handler, ServerContext
from barnabas.broker.server.fairness import FairQueue, Share
from barnabas.broker.server.network.outgoing import Outgoing
from barnabas.broker.server.network.pipeline import RequestPipeline
from barnabas.broker.server.network.sasl_gate import FOR_THE_GATE, SaslGate
from barnabas.broker.server.security.tls_transport import TlsTransport
from barnabas.broker.wire.apis import ApiKey
from barnabas.broker.wire.frames import Chunk, Prefix, UnreadableFrameError, read_prefix
from barnabas.broker.wire.guard import HostileFrameError
from barnabas.broker.wire.receive import CHUNK_BYTES, ReceiveBuffer
from barnabas.cluster.model.addresses import host_address
from barnabas.cluster.model.principal import ANONYMOUS
from barnabas.cluster.runtime.line_limit import LINES

logger = structlog.get_logger(__name__)

AFTER_PAUSE_S = 1.0
"""The time in seconds after a pause in which what is read may have waited in the socket meanwhile."""


class ClientConnection(asyncio.BufferedProtocol):
    """The asyncio protocol of one accepted connection.

    Args:
        context: Passed to the handlers.
        handlers: The handler of each API.
        listener: The name of the listener that accepted it.
        queue: Decides when its requests are served.
        on_made: Called when the connection is established.
        on_ended: Called when nothing more comes in; calls ``end`` in turns with those of other connections.
        on_lost: Called when it is closed.
        authentication: The state of its SASL authentication; None on a listener without SASL.
    """

    def __init__(
        self,
        context: ServerContext,
        handlers: Mapping[ApiKey, Handler],
        listener: str,
        *,
        queue: FairQueue,
        on_made: Callable[[ClientConnection], None],
        on_ended: Callable[[ClientConnection], None],
        on_lost: Callable[[ClientConnection], None],
        authentication: SaslAuthentication | None = None,
    ) -> None:
        self._context = context
        self._handlers = handlers
        self._listener = listener
        self._queue = queue
        self.share = Share()
        self._on_made = on_made
        self._on_ended = on_ended
        self._on_lost = on_lost
        self._input = ReceiveBuffer(context.settings.request_max_bytes)
        self._gate: SaslGate | None = None
        if authentication is not None:
            self._gate = SaslGate(self, authentication, context, listener)
            self._input.max_frame_bytes = context.settings.sasl_max_receive_bytes
        self._claimed = 0
        self._arriving = 0
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._outgoing: Outgoing | None = None
        self._pipeline: RequestPipeline | None = None
        self._may_read = True
        self._muted_until = 0.0
        self._unmuting: asyncio.TimerHandle | None = None
        self._closing = False
        self._peer = "unknown"
        self._arrived = 0.0
        self._begun = self._last = 0.0
        """The latest times at which the next request, and what was read last, may have been sent."""
        self._paused, self._resumed = 0.0, -inf
        """The times of the latest pause in reading; it does not count after the next read."""
        self.principal = ANONYMOUS
        """The identity of the client."""
        self.made_at = self._loop.time()
        """The loop's time at which the connection was made."""
        self.last_active = self.made_at
        """The loop's time at which bytes were last received or an answer sent."""

    @property
    def is_waiting(self) -> bool:
        """Return whether the client waits for an answer."""
        return self._pipeline is not None and not self._pipeline.is_empty

    @property
    def is_unknown(self) -> bool:
        """Return whether the client has to authenticate and has never done so."""
        return self._gate is not None and not self._gate.has_authenticated

    @property
    def peer(self) -> str:
        """The address of the client, for the log."""
        return self._peer

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the protocol on an established connection."""
        self._transport = cast("asyncio.Transport", transport)
        host, self._peer = _peer(transport.get_extra_info("peername"))
        self._on_made(self)
        self._outgoing = Outgoing(
            self._transport,
            self._context.answers,
            self._sent,
            self._unreadable,
            self._evicted,
            is_encrypted=isinstance(transport, TlsTransport),
        )
        self._pipeline = RequestPipeline(self, self._context, self._handlers, self._listener, host)
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

    def eof_received(self) -> bool:
        """Leave the transport open until ``end``: the loop may report the ends of thousands in one pass."""
        self._closing = True
        self._on_ended(self)
        return True

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection is closed; ``end`` follows, unless it was before."""
        del exc  # the way in which it ended does not matter
        self._closing = True
        self._transport = None
        if self._pipeline is not None:
            self._on_ended(self)
        self._on_lost(self)

    def end(self) -> int:
        """Cancel the requests, free all memory and close; return the number of requests.

        It may be called again, and returns 0 then.
        """
        # The pipeline and the output refer to this connection, too. Without these cycles its memory is freed
        # when it is closed: a full garbage collection may be minutes away.
        outgoing, pipeline = self._outgoing, self._pipeline
        self._outgoing = self._pipeline = None
        if outgoing is None or pipeline is None:
            return 0
        self.finish()
        if self._unmuting is not None:
            self._unmuting.cancel()
        if self._gate is not None:
            self._gate.cancel()
            self._gate = None
        self._give_back_claim()
        cancelled = pipeline.cancel()
        outgoing.clear()
        self._input.close()
        self._note_arriving()
        return cancelled

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        del sizehint  # the size of the incoming frame decides
        return self._input.writable()

    def buffer_updated(self, nbytes: int) -> None:
        """Process ``nbytes`` received bytes."""
        now = monotonic()
        self._last = self._paused if now < self._resumed + AFTER_PAUSE_S else now
        if self._input.is_empty:
            self._begun = self._last
        self._input.received(nbytes)
        self._arrived, self._resumed, self.last_active = now, -inf, self._loop.time()
        self.wake()
        self._note_arriving()

    def pause_writing(self) -> None:
        """Note that the client does not read its answers."""
        if self._outgoing is not None:
            self._outgoing.paused()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        if self._outgoing is not None:
            self.last_active = self._loop.time()
            self._outgoing.resumed()

    def release(self) -> None:
        """Free the buffer that a large request left, if nothing is in flight."""
        if not self.is_waiting:
            self._input.release()
            self._note_arriving()

    def _note_arriving(self) -> None:
        """Report the input's memory beyond that of an idle connection to ``ArrivingMemory``."""
        held = self._input.capacity if self._input.capacity > CHUNK_BYTES and not self._closing else 0
        if held or self._arriving:
            self._arriving = held
            self._context.arriving.holds(self, held)

    def evict(self) -> None:
        """Free the input for the requests of others; close the connection if a request is partly received."""
        self._arriving = 0
        if self._input.is_empty:
            self._input.release()
            return
        self.close("its request comes in while memory is short", limit=self._context.arriving.limit)
        self.abort()

    def close(self, reason: str, **details: object) -> None:
        """Close after what was written has been sent, and log why, within the limit of log lines.

        Args:
            reason: A constant text; log lines are limited per reason.
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
        self.finish()

    def close_after_error(self, error: Exception, **request: object) -> None:
        """Log an unforeseen error of a handler, and close.

        Args:
            error: The error.
            request: The request's fields in the log line; lines are limited per ``api``.
        """
        if LINES.allow(f"a request handler failed: {request['api']}"):
            logger.error("a request handler failed", exc_info=error, **request, peer=self._peer)
        self.finish()

    def finish(self) -> None:
        """Close after what was written has been sent."""
        self._closing = True
        if self._transport is not None:
            self._transport.close()

    def expire(self, silent_ms: int, maximum_ms: int) -> None:
        """Close a connection that was silent too long, without sending: its client may read nothing."""
        self.close("idle", silent_ms=silent_ms, maximum_ms=maximum_ms)
        self.abort()

    def abort(self) -> None:
        """Close now, without sending what waits."""
        self._closing = True
        if self._transport is not None:
            self._transport.abort()

    def wake(self) -> None:
        """Ask for the connection's turn if a whole request is here and may start."""
        if self._startable() is None:
            return
        self._queue.ready(self)
        if self.share.is_queued:
            self._read(wanted=False)

    def mute(self, wait_ms: int) -> None:
        """Start no request for so many milliseconds: the client has used more than its quota."""
        until = self._loop.time() + wait_ms / 1000
        if until > self._muted_until and not self._closing:
            self._muted_until = until
            if self._unmuting is not None:
                self._unmuting.cancel()
            self._unmuting = self._loop.call_at(until, self._unmute)

    def _unmute(self) -> None:
        self._muted_until, self._unmuting = 0.0, None
        self.wake()

    def serve(self) -> bool:
        """Start the next request; return whether another one may start."""
        startable = self._startable()
        if startable is None or self._pipeline is None:
            return False
        prefix, frame = startable
        if self._gate is not None and self._gate.refuses(prefix):
            return False
        self._input.consume()
        if prefix is FOR_THE_GATE:
            return self._pass_to_gate(frame)
        claimed, self._claimed = self._claimed, 0
        begun, self._begun = self._begun, self._last
        is_pending = self._pipeline.start(prefix, frame, claimed, self._arrived, begun)
        # The pipeline owns the memory of a frame that it may still read, and of one that was claimed.
        if claimed or is_pending:
            self._input.give_away()
        if self._startable() is None:
            return False
        self._read(wanted=False)
        return True

    def _pass_to_gate(self, frame: memoryview) -> bool:
        """Authenticate by a frame; return whether another frame may start."""
        gate = self._gate
        if gate is None:
            return False
        self._give_back_claim()
        gate.receive(frame)
        settings = self._context.settings
        if gate.is_open:
            self._input.max_frame_bytes = settings.request_max_bytes
        return self._startable() is not None

    def _startable(self) -> tuple[Prefix, memoryview] | None:
        """Return the next request if it may start now; read the socket if none is complete."""
        if self._closing or self._transport is None or self._transport.is_closing():
            return None
        if self._gate is not None and self._gate.is_shut:
            self._read(wanted=False)
            return None
        try:
            frame = self._input.frame()
            if frame is None:
                self._read(wanted=self._has_room())
                return None
            prefix = read_prefix(frame) if self._gate is None else self._gate.prefix_of(frame)
        except (HostileFrameError, UnreadableFrameError) as error:
            self.close("a frame that is no Kafka request", error=str(error))
            return None
        if self._may_start(prefix):
            return prefix, frame
        self._read(wanted=False)
        return None

    def _has_room(self) -> bool:
        """Return whether the rest of the first frame may be read; if not, wait for memory."""
        memory, needed = self._context.requests, self._input.needed
        if self._claimed or needed <= CHUNK_BYTES:
            return True
        if not memory.is_bounded:
            return self._input.received_bytes > CHUNK_BYTES or self._context.started.take(0, self.wake)
        if not memory.take(needed, self.wake):
            return False
        self._claimed = needed
        return True

    def _give_back_claim(self) -> None:
        """Give back the memory of a frame that will not be read, and stop waiting for memory."""
        self._context.requests.forget(self.wake)
        self._context.started.forget(self.wake)
        claimed, self._claimed = self._claimed, 0
        if claimed:
            self._context.requests.give_back(claimed)

    def _read(self, *, wanted: bool) -> None:
        if wanted == self._may_read or self._transport is None:
            return
        self._may_read = wanted
        if wanted:
            self._resumed = monotonic()
            self._transport.resume_reading()
        else:
            self._paused = monotonic()
            self._transport.pause_reading()

    def _may_start(self, prefix: Prefix) -> bool:
        return (
            self._outgoing is not None
            and self._unmuting is None
            and self._outgoing.is_idle
            and self._pipeline is not None
            and self._pipeline.may_start(prefix)
        )

    def answer(self, chunks: list[Chunk]) -> bool:
        """Send encoded answers, unless the connection is closing.

        Returns:
            Whether the socket has taken all that there was to send.
        """
        outgoing = self._outgoing
        if outgoing is None or self._closing:
            return False
        outgoing.send(chunks)
        self.last_active = self._loop.time()
        return outgoing.is_idle

    def _sent(self) -> None:
        """Start what may start now that all answers were sent."""
        if self._pipeline is not None:
            self._pipeline.sent()
        self.wake()

    def _unreadable(self, error: OSError) -> None:
        """Close: records of an answer that has begun cannot be read, so the answer cannot be completed."""
        self.close("the records of an answer cannot be read", error=str(error))

    def _evicted(self) -> None:
        """Close: all answers together are too large, and this client has not read for the longest time."""
        self.close("its answers wait while memory is short", limit=self._context.answers.limit)
        self.abort()


def _peer(peername: object) -> tuple[str, str]:
    """Return the address of a peer in Java's form, and the address with the port for the log."""
    if not isinstance(peername, tuple):
        return "", str(peername)
    host = host_address(peername[0])
    return host, f"{host}:{peername[1]}"
