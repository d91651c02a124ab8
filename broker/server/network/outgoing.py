"""The output of one connection, which takes no more memory than the socket's buffer.

Records of a fetch are sent from the file (``sendfile(2)``) as the client reads them. A client that reads
nothing costs the broker the buffer of the operating system and one piece of ``PIECE_BYTES``: when that is
sent, the transport calls back, and the next part of the file is sent. With TLS the records are read to be
encrypted, and there is one piece of ``ENCRYPTED_BYTES``.
Source: ``FileRecords.writeTo`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Iterable

from barnabas.broker.server.memory import AnswerMemory
from barnabas.broker.wire.frames import Chunk
from barnabas.broker.wire.writing import TransferableRecords

PIECE_BYTES = 16_384
"""The bytes of a file that are read ahead, to be sent as soon as the socket is writable."""

ENCRYPTED_BYTES = 65_536
"""The bytes of a file that are read and encrypted at once, for the few calls that they cost."""

TURN_BYTES = 1_048_576
"""The bytes sent to one client before other work runs."""


class Outgoing:
    """The answers that one connection still has to send.

    Args:
        transport: The connection's transport; its protocol calls ``paused`` and ``resumed``.
        memory: Counts the answers of all connections.
        on_sent: Called when everything was written to the socket after something had to wait.
        on_failed: Called when records cannot be read, so that the answer that has begun cannot be completed.
        on_evicted: Called when the answers were dropped because those of all connections are too large.
        is_encrypted: Whether the transport encrypts, so that nothing may be sent past it.
    """

    def __init__(
        self,
        transport: asyncio.Transport,
        memory: AnswerMemory,
        on_sent: Callable[[], None],
        on_failed: Callable[[OSError], None],
        on_evicted: Callable[[], None],
        *,
        is_encrypted: bool = False,
    ) -> None:
        # The transport must report everything that the socket does not take at once.
        transport.set_write_buffer_limits(high=0)
        self._transport = transport
        self._memory = memory
        self._on_sent = on_sent
        self._on_failed = on_failed
        self._on_evicted = on_evicted
        self._is_encrypted = is_encrypted
        self._chunks: deque[Chunk] = deque()
        self._position = 0
        self._queued = 0
        self._held = 0
        self._may_write = True
        self._has_turn_ahead = False

    @property
    def is_idle(self) -> bool:
        """Return whether nothing waits to be sent."""
        return self._may_write and not self._chunks

    def send(self, chunks: Iterable[Chunk]) -> None:
        """Send ``chunks`` after those that wait."""
        for chunk in chunks:
            self._chunks.append(chunk)
            if isinstance(chunk, bytes | bytearray | memoryview):
                self._queued += len(chunk)
        if self._may_write and not self._has_turn_ahead:
            self._pump()
        self._note_held()

    def paused(self) -> None:
        """Note that the socket is full."""
        self._may_write = False

    def resumed(self) -> None:
        """Continue to send: the socket has taken everything."""
        self._may_write = True
        self._go_on()

    def clear(self) -> None:
        """Drop what was not sent: the connection is closed."""
        self._drop_queued()
        self._note_held()

    def evict(self) -> None:
        """Drop what was not sent; called by ``AnswerMemory``, which no longer counts it."""
        self._held = 0
        self._drop_queued()
        self._on_evicted()

    def _drop_queued(self) -> None:
        self._chunks.clear()
        self._queued = 0

    def _note_held(self) -> None:
        """Report the bytes that wait here and in the transport to ``AnswerMemory`` if they have changed."""
        held = self._queued
        if not self._may_write and not self._transport.is_closing():
            held += self._transport.get_write_buffer_size()
        if held != self._held:
            self._held = held
            self._memory.holds(self, held)

    def _go_on(self) -> None:
        self._has_turn_ahead = False
        if self._may_write and not self._transport.is_closing():
            self._pump()
            self._note_held()
            if self.is_idle:
                self._on_sent()

    def _pump(self) -> None:
        left = TURN_BYTES
        while self._chunks and self._may_write:
            if left <= 0:
                self._has_turn_ahead = True
                asyncio.get_running_loop().call_soon(self._go_on)
                return
            chunk = self._chunks[0]
            if isinstance(chunk, bytes | bytearray | memoryview):
                self._chunks.popleft()
                self._queued -= len(chunk)
                self._transport.write(chunk)
                left -= len(chunk)
            else:
                left -= self._transfer(chunk)

    def _transfer(self, records: TransferableRecords) -> int:
        """Send as much of ``records`` as the socket takes; return the bytes."""
        begin, end = self._position, len(records)
        try:
            wanted = min(end - begin, TURN_BYTES)
            sent, size = 0, ENCRYPTED_BYTES
            if not self._is_encrypted:
                sent = records.write_to(self._transport.get_extra_info("socket").fileno(), begin, wanted)
                size = PIECE_BYTES
            self._position += sent
            if sent < wanted:
                piece = records.read(self._position, min(size, end - self._position))
                self._position += len(piece)
                self._transport.write(piece)
        except (BrokenPipeError, ConnectionResetError):
            self._drop_queued()
            self._transport.abort()
            return 0
        except OSError as error:
            self._drop_queued()
            self._on_failed(error)
            return 0
        if self._position == end:
            self._chunks.popleft()
            self._position = 0
        return self._position - begin if self._position else end - begin
