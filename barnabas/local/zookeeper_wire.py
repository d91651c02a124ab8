"""A minimal ZooKeeper client for requests that ordinary clients cannot make, such as taking over a session.

Lengths and numbers are big-endian; a request is ``length, xid, opcode, body``. Source: ``zookeeper.jute`` and
``ZooDefs`` of 3.9.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import NamedTuple, Self

_PASSWORD_BYTES = 16
_SESSION_TIMEOUT_MS = 10_000
_DELETE, _EXISTS, _GET_DATA, _GET_CHILDREN, _CLOSE = 2, 3, 4, 8, -11
NO_NODE, NOT_EMPTY = -101, -111
_ANY_VERSION = -1

_CONNECT = struct.Struct(
    ">iqiqi"
)  # protocol version, last zxid seen, timeout, session id, length of password
_CONNECTED = struct.Struct(">iiq")  # protocol version, timeout (0: refused), session id
_HEADER = struct.Struct(">ii")  # xid, opcode
_REPLY = struct.Struct(">iqi")  # xid, zxid, error
_STAT = struct.Struct(">qqqqiiiqiiq")
_INT = struct.Struct(">i")


class WireError(Exception):
    """An error if the server refused or closed the connection; the message names the znode and the error."""


class Stat(NamedTuple):
    """The metadata of a znode.

    Attributes:
        czxid: The transaction that created the znode.
        owner: The session that owns the znode; 0 if it is not ephemeral.
    """

    czxid: int
    owner: int


class Connection:
    """A TCP connection to one server.

    Args:
        address: ``host:port``.
        timeout_s: The timeout of each response in seconds.

    Raises:
        OSError: The server does not answer.
    """

    def __init__(self, address: str, timeout_s: float = 10.0) -> None:
        host, _, port = address.partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def connect(self) -> None:
        """Open a new session, which expires when it is no longer used.

        Raises:
            WireError: The server opens no session.
        """
        self._socket.sendall(_connect_frame(0, bytes(_PASSWORD_BYTES)))
        _, timeout, _ = _CONNECTED.unpack_from(self._receive())
        if timeout <= 0:
            raise WireError("the server opened no session")

    def stat(self, path: str) -> Stat | None:
        """Return the metadata of a znode; None if it does not exist."""
        answer = self._ask(_EXISTS, path, b"\0")
        if answer is None:
            return None
        czxid, _, _, _, _, _, _, owner, *_ = _STAT.unpack_from(answer)
        return Stat(czxid, owner)

    def data(self, path: str) -> bytes | None:
        """Return the content of a znode; None if it does not exist."""
        answer = self._ask(_GET_DATA, path, b"\0")
        return None if answer is None else _buffer(answer, 0)

    def children(self, path: str) -> list[str]:
        """Return the names of a znode's children; empty if it does not exist."""
        answer = self._ask(_GET_CHILDREN, path, b"\0")
        names: list[str] = []
        at = _INT.size
        for _ in range(0 if answer is None else _INT.unpack_from(answer)[0]):
            name = _buffer(answer or b"", at)
            names.append(name.decode())
            at += _INT.size + len(name)
        return names

    def delete(self, path: str) -> bool:
        """Delete a znode of any version; return False if it does not exist or has children."""
        return self._ask(_DELETE, path, _INT.pack(_ANY_VERSION), NO_NODE, NOT_EMPTY) is not None

    def end_session(self, session_id: int, password: bytes) -> None:
        """Take over a session and close it in one packet, because its owner reconnects at once."""
        taking = _connect_frame(session_id, password)
        self._socket.sendall(taking + _frame(_HEADER.pack(2, _CLOSE)))
        with contextlib.suppress(ConnectionResetError):
            while self._socket.recv(4096):
                pass  # the response proves nothing yet: the owner may have been faster

    def _ask(self, opcode: int, path: str, rest: bytes, *refusals: int) -> bytes | None:
        """Send a request and return the response's body; None for a missing znode or one of ``refusals``."""
        name = path.encode()
        self._socket.sendall(_frame(_HEADER.pack(1, opcode) + _INT.pack(len(name)) + name + rest))
        answer = self._receive()
        _, _, error = _REPLY.unpack_from(answer)
        if error in (NO_NODE, *refusals):
            return None
        if error:
            raise WireError(f"{path}: the server answers {error}")
        return answer[_REPLY.size :]

    def _receive(self) -> bytes:
        (length,) = _INT.unpack(self._exactly(_INT.size))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            try:
                part = self._socket.recv(count - len(received))
            except ConnectionResetError:  # the server closed the connection before it read everything
                part = b""
            if not part:
                raise WireError(f"the server closed the connection after {len(received)} of {count} bytes")
            received += part
        return received


def _buffer(answer: bytes, at: int) -> bytes:
    (length,) = _INT.unpack_from(answer, at)
    return answer[at + _INT.size : at + _INT.size + max(0, length)]


def _frame(body: bytes) -> bytes:
    return _INT.pack(len(body)) + body


def _connect_frame(session_id: int, password: bytes) -> bytes:
    start = _CONNECT.pack(0, 0, _SESSION_TIMEOUT_MS, session_id, len(password))
    return _frame(start + password + b"\0")
