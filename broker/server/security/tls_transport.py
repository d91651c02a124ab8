"""TLS between a socket's transport and a client connection, to which it is a transport as any other.

The TLS of the event loops has three shortcomings. It closes a failed handshake without the alert that tells
the client why. It keeps a buffer of 256 KB for each connection. It hides the number of bytes that wait to
be sent, by which the memory of clients that do not read is bounded. Source of the rules:
``SslTransportLayer`` of release 2.8: a failed handshake ends with its alert and at once, and so does a
closed connection.
"""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Callable
from typing import Any, cast

from barnabas.broker.server.security.handshakes import Handshakes
from barnabas.cluster.model.addresses import host_address

RECEIVE_BYTES = 65_536
"""The most bytes that are decrypted in one go."""

UNREAD_BYTES = 16_384
"""The most bytes that TLS itself answers, to new keys for example, while the client reads nothing."""

_received = memoryview(bytearray(RECEIVE_BYTES))
"""The bytes that the socket's transport has read, for all connections: they are decrypted at once."""

Established = Callable[["TlsTransport"], asyncio.BufferedProtocol]
"""The function that makes the connection of a client after its handshake; its errors end the connection.

Raises:
    HandshakeError: The client is refused.
"""


class HandshakeError(Exception):
    """An error for a client that is refused although its handshake succeeded."""


class TlsTransport(asyncio.Transport, asyncio.BufferedProtocol):
    """The TLS of one accepted connection.

    Args:
        context: The key, and what is accepted.
        timeout_s: The longest handshake, in seconds.
        on_established: Makes the connection.
        on_failed: Called with the reason when the handshake has failed; the connection is closed then.
        handshakes: Decides when the handshake may go on.

    Attributes:
        peer: The address of the client, for the log.
    """

    def __init__(
        self,
        context: ssl.SSLContext,
        timeout_s: float,
        on_established: Established,
        on_failed: Callable[[TlsTransport, str], None],
        handshakes: Handshakes,
    ) -> None:
        super().__init__()
        self._incoming, self._outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
        self._tls = context.wrap_bio(self._incoming, self._outgoing, server_side=True)
        self._timeout_s = timeout_s
        self._on_established = on_established
        self._on_failed = on_failed
        self._handshakes = handshakes
        self._has_step_ahead = False
        self._loop = asyncio.get_running_loop()
        self._raw: asyncio.Transport | None = None
        self._protocol: asyncio.BufferedProtocol | None = None
        self._deadline: asyncio.TimerHandle | None = None
        self.peer = "unknown"
        self._failure: str | None = None
        self._is_paused = False
        self._is_closing = False
        self._unread = 0

    @property
    def certificate(self) -> bytes | None:
        """The client's certificate in DER; None if it has none, or none was asked for."""
        return self._tls.getpeercert(binary_form=True)

    @property
    def cipher_suite(self) -> str:
        """The cipher suite of the connection, by OpenSSL's name."""
        cipher = self._tls.cipher()
        return "" if cipher is None else cipher[0]

    # Calls of the socket's transport.

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Wait for the handshake of an accepted connection."""
        self._raw = cast("asyncio.Transport", transport)
        self.peer = address_of(transport)
        self._deadline = self._loop.call_later(self._timeout_s, self._time_out)

    def get_buffer(self, sizehint: int) -> memoryview:
        """Return the buffer for the next bytes."""
        del sizehint
        return _received

    def buffer_updated(self, nbytes: int) -> None:
        """Continue the handshake, or pass on what was sent."""
        self._incoming.write(_received[:nbytes])
        if self._protocol is not None:
            self._decrypt()
            return
        self._has_step_ahead = True
        self._handshakes.ready(self)
        if self._has_step_ahead and self._raw is not None:
            self._raw.pause_reading()  # what a client sends meanwhile must not fill the memory

    def eof_received(self) -> None:
        """Note that a client closed its side without TLS's closing alert.

        The socket's transport closes itself.
        """
        if self._protocol is None:
            self._fail("the client closed the connection during the handshake")

    def connection_lost(self, exc: Exception | None) -> None:
        """Report the end to the connection, or the failure of the handshake."""
        self._is_closing = True
        self._stop_deadline()
        protocol, self._protocol, self._raw = self._protocol, None, None
        if protocol is not None:
            protocol.connection_lost(exc)
        else:
            reason = self._failure or "the connection was lost during the handshake"
            self._on_failed(self, reason)

    def pause_writing(self) -> None:
        """Pass on that the socket is full."""
        if self._protocol is not None:
            self._protocol.pause_writing()

    def resume_writing(self) -> None:
        """Pass on that the socket has taken everything."""
        if self._protocol is not None:
            self._protocol.resume_writing()

    # Calls of the connection.

    def get_extra_info(self, name: str, default: Any = None) -> Any:
        """Return what is known of the socket, ``peername`` for example."""
        return default if self._raw is None else self._raw.get_extra_info(name, default)

    def is_closing(self) -> bool:
        """Return whether it is closed, or about to be."""
        return self._is_closing or self._raw is None or self._raw.is_closing()

    def set_write_buffer_limits(self, high: int | None = None, low: int | None = None) -> None:
        """Set the numbers of waiting bytes at which the connection is asked to pause and to resume."""
        if self._raw is not None:
            self._raw.set_write_buffer_limits(high, low)

    def get_write_buffer_size(self) -> int:
        """Return the encrypted bytes that the socket has not taken."""
        return 0 if self._raw is None else self._raw.get_write_buffer_size()

    def pause_reading(self) -> None:
        """Take nothing more from the client."""
        self._is_paused = True
        if self._raw is not None and not self._is_closing:
            self._raw.pause_reading()

    def resume_reading(self) -> None:
        """Take more from the client, at first what has arrived and waits to be decrypted."""
        self._is_paused = False
        if self._raw is not None and not self._is_closing:
            self._raw.resume_reading()
            if self._incoming.pending or self._tls.pending():
                self._loop.call_soon(self._decrypt)

    def write(self, data: bytes | bytearray | memoryview) -> None:
        """Encrypt and send."""
        if self.is_closing():
            return
        left = memoryview(data)
        try:
            while left:
                left = left[self._tls.write(left) :]
        except ssl.SSLError:
            self.abort()
            return
        self._flush()

    def close(self) -> None:
        """Send TLS's closing alert, and close when everything was sent."""
        if self._is_closing or self._raw is None:
            return
        self._is_closing = True
        with contextlib.suppress(ssl.SSLError):  # the client's own closing alert is not awaited
            self._tls.unwrap()
        self._flush()
        self._raw.close()

    def abort(self) -> None:
        """Close now, without sending what waits."""
        self._is_closing = True
        if self._raw is not None:
            self._raw.abort()

    # Internals.

    def _flush(self) -> None:
        """Send what is encrypted."""
        if self._raw is not None and self._outgoing.pending:
            self._raw.write(self._outgoing.read())

    def _flush_own(self) -> None:
        """Send TLS's own answers; cut off a client that causes answers and reads none of them.

        A client may ask for new keys as often as it likes (RFC 8446, section 4.6.3), before it logs in, too.
        """
        is_read = self._raw is None or not self._raw.get_write_buffer_size()
        self._unread = 0 if is_read else self._unread + self._outgoing.pending
        if self._unread > UNREAD_BYTES:
            self.abort()
            return
        self._flush()

    def shake_hands(self) -> None:
        """Take the next step of the handshake."""
        self._has_step_ahead = False
        if self._is_closing:
            return
        if self._raw is not None:
            self._raw.resume_reading()
        try:
            self._tls.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            self._flush()
            return
        except ssl.SSLError as error:
            self._flush()
            self._fail(_reason_of(error))
            return
        self._flush()
        self._stop_deadline()
        try:
            protocol = self._on_established(self)
        except HandshakeError as error:
            self._fail(str(error))
            return
        self._protocol = protocol
        protocol.connection_made(self)
        self._decrypt()

    def _time_out(self) -> None:
        self._fail(f"the handshake has taken more than {self._timeout_s:g} seconds")
        self.abort()

    def _stop_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    def _fail(self, reason: str) -> None:
        """Close after the alert was sent; `connection_lost` reports the reason."""
        self._failure = self._failure or reason
        self._is_closing = True
        if self._raw is not None:
            self._raw.close()

    def _decrypt(self) -> None:
        """Pass on what has arrived, as long as the connection takes it."""
        while self._protocol is not None and not self._is_paused and not self.is_closing():
            buffer = cast("memoryview", self._protocol.get_buffer(-1))
            count, has_ended = self._fill(buffer)
            if count:
                self._protocol.buffer_updated(count)
            if has_ended:
                self._flush()
                self.close()
                return
            if count < len(buffer):
                break
        self._flush_own()

    def _fill(self, buffer: memoryview) -> tuple[int, bool]:
        """Decrypt into ``buffer``; return the number of bytes, and whether the client sends no more."""
        count = 0
        try:
            while count < len(buffer) and (self._incoming.pending or self._tls.pending()):
                # Into a part of a buffer, `read` returns the number of bytes.
                read = cast("int", self._tls.read(len(buffer) - count, buffer[count:]))
                if not read:
                    return count, True
                count += read
        except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
            pass  # a part of a TLS record
        except ssl.SSLError:
            return count, True  # a closing alert, or bytes that are not TLS
        return count, False


def address_of(transport: asyncio.BaseTransport) -> str:
    """Return the address of a connection's client, for the log."""
    peername = transport.get_extra_info("peername")
    return f"{host_address(peername[0])}:{peername[1]}" if isinstance(peername, tuple) else str(peername)


def _reason_of(error: ssl.SSLError) -> str:
    """Return why a handshake has failed: OpenSSL's text without the place in its source."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"the client's certificate is not accepted: {error.verify_message}"
    return (error.reason or str(error)).replace("_", " ").lower()
