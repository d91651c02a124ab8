"""A TLS connection in the form in which kazoo uses a socket.

kazoo waits for the file descriptor, though TLS may have decrypted more data than kazoo has read. It also
assumes that a readable file descriptor has data, though TLS may have read only messages of its own, such as
those that TLS 1.3 sends after the handshake. The first would delay an answer until the next one; the second
would keep kazoo waiting for an answer, without sending requests, until the connection counts as lost.
"""

from __future__ import annotations

import socket
import ssl
import time
from collections.abc import Callable, Sequence
from typing import Any

_READ_BYTES = 16384  # the largest size of a TLS record's content

Ready = tuple[list[Any], list[Any], list[Any]]
"""The file descriptors that are readable, writable and in error, as ``select`` returns them."""


class TlsSocket:
    """A connection, which is readable if there is data.

    Args:
        connection: The connection after its handshake.
    """

    def __init__(self, connection: ssl.SSLSocket) -> None:
        self._connection = connection
        self._read_ahead = b""
        self._is_over = False

    @classmethod
    def dial(
        cls, context: ssl.SSLContext, host: str, address: tuple[str, int], timeout_s: float
    ) -> TlsSocket:
        """Connect, and complete the handshake.

        Args:
            context: The context.
            host: The name that the server's certificate should have.
            address: The IP address and the port.
            timeout_s: The timeout of the connection, and of each step of the handshake.

        Raises:
            OSError: There was no connection, or the handshake failed.
        """
        plain = socket.create_connection(address, timeout_s)
        try:
            plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return cls(context.wrap_socket(plain, server_hostname=host))
        except BaseException:
            plain.close()
            raise

    def fileno(self) -> int:
        """Return the file descriptor."""
        return self._connection.fileno()

    def setblocking(self, flag: bool) -> None:  # the name is that of a socket's method
        """Set whether calls block."""
        self._connection.setblocking(flag)

    def pending(self) -> int:
        """Return the number of bytes that can be read at once."""
        return len(self._read_ahead) + self._connection.pending()

    def has_data(self) -> bool:
        """Return whether ``recv`` has something to return: data, the end, or an error."""
        if self._is_over or self.pending():
            return True
        try:
            self._read_ahead = self._connection.recv(_READ_BYTES)
        except ssl.SSLWantReadError:
            return False
        except OSError:
            return True  # ``recv`` raises the error again
        self._is_over = not self._read_ahead
        return True

    def recv(self, size: int) -> bytes:
        """Return at most ``size`` bytes; none at the end of the connection."""
        if self._read_ahead:
            read, self._read_ahead = self._read_ahead[:size], self._read_ahead[size:]
            return read
        return b"" if self._is_over else self._connection.recv(size)

    def send(self, data: Any) -> int:
        """Send a part of ``data``, and return its length."""
        return self._connection.send(data)

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def select_with_data(
    select: Callable[..., Ready],
    reads: Sequence[Any],
    writes: Sequence[Any],
    errors: Sequence[Any],
    timeout_s: float | None = None,
) -> Ready:
    """Wait as ``select`` does, except that a ``TlsSocket`` counts as readable only if it has data."""
    deadline = None if timeout_s is None else time.monotonic() + timeout_s
    # A descriptor may be readable for a message of TLS's own: wait again, for the time that is left.
    while True:
        waiting = [each for each in reads if isinstance(each, TlsSocket) and each.pending()]
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        readable, writable, failed = select(reads, writes, errors, 0 if waiting else left)
        ready = [
            each
            for each in reads
            if each in waiting or (each in readable and (not isinstance(each, TlsSocket) or each.has_data()))
        ]
        if ready or writable or failed or left == 0:
            return ready, writable, failed
