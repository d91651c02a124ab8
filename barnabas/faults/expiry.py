"""Ends the ZooKeeper session of somebody else, as the server would: nobody but the server is asked.

A session may be moved to another connection by whoever knows its id and password, and closed there. Ids are
public (the ``ephemeralOwner`` of a znode), and the server derives the password from the id alone
(``ZooKeeperServer.generatePasswd``). So a few frames of ZooKeeper's protocol suffice: lengths and numbers are
big-endian, a request is ``length, xid, opcode, body``. Source: ``zookeeper.jute`` and ``ZooDefs`` of 3.9.
"""

from __future__ import annotations

import contextlib
import socket
import struct
from typing import Self

_SUPER_SECRET = 0xB3415C00
_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
"""``java.util.Random``: a linear congruential generator of 48 bits."""

_PASSWORD_BYTES = 16
_SESSION_TIMEOUT_MS = 10_000
_EXISTS, _CLOSE = 3, -11
_NO_NODE = -101
_TRIES = 10

_CONNECT = struct.Struct(
    ">iqiqi"
)  # protocol version, last zxid seen, timeout, session id, length of password
_CONNECTED = struct.Struct(">iiq")  # protocol version, timeout (0: refused), session id
_HEADER = struct.Struct(">ii")  # xid, opcode
_REPLY = struct.Struct(">iqi")  # xid, zxid, error
_STAT = struct.Struct(">qqqqiiiqiiq")
_EPHEMERAL_OWNER = 7


class ExpiryError(Exception):
    """The session was not ended; the message names it and what the server said."""


def password_of(session_id: int) -> bytes:
    """The password that a ZooKeeper server gives the session."""
    seed = ((session_id ^ _SUPER_SECRET) ^ _MULTIPLIER) & _MASK
    password = b""
    while len(password) < _PASSWORD_BYTES:
        seed = (seed * _MULTIPLIER + _INCREMENT) & _MASK
        password += (seed >> 16).to_bytes(4, "little")
    return password


def expire_owner(address: str, path: str, timeout_s: float = 10.0) -> int:
    """End the session that owns an ephemeral znode.

    Args:
        address: ``host:port`` of the server.
        path: The znode, such as ``/brokers/ids/1``.
        timeout_s: For each answer.

    Returns:
        The session's id.

    Raises:
        ExpiryError: There is no such znode, no session owns it, or the server refused.
        OSError: The server does not answer.
    """
    with _Connection(address, timeout_s) as own:
        own.connect()
        owner = own.owner_of(path)
        if owner is None:
            raise ExpiryError(f"{path}: there is no such znode")
        if owner == 0:
            raise ExpiryError(f"{path} is no ephemeral znode: no session owns it")
        for _ in range(_TRIES):
            with _Connection(address, timeout_s) as taken:
                taken.end_session(owner)
            if own.owner_of(path) != owner:
                return owner
    raise ExpiryError(f"session {owner:#x} still owns {path} after {_TRIES} tries to end it")


class _Connection:
    def __init__(self, address: str, timeout_s: float) -> None:
        host, _, port = address.partition(":")
        self._socket = socket.create_connection((host, int(port)), timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def connect(self) -> None:
        """Open a session of its own; it ends by itself when it is no longer used."""
        self._socket.sendall(_connect_frame(0, bytes(_PASSWORD_BYTES)))
        _, timeout, _ = _CONNECTED.unpack_from(self._receive())
        if timeout <= 0:
            raise ExpiryError("the server gave no session")

    def owner_of(self, path: str) -> int | None:
        """The session that owns a znode, 0 where none does; None where there is no such znode."""
        name = path.encode()
        self._socket.sendall(_frame(_HEADER.pack(1, _EXISTS) + struct.pack(">i", len(name)) + name + b"\0"))
        answer = self._receive()
        _, _, error = _REPLY.unpack_from(answer)
        if error == _NO_NODE:
            return None
        if error:
            raise ExpiryError(f"{path}: the server answers {error}")
        owner: int = _STAT.unpack_from(answer, _REPLY.size)[_EPHEMERAL_OWNER]
        return owner

    def end_session(self, session_id: int) -> None:
        """Take a session and close it, in one breath: its owner comes back for it at once."""
        taking = _connect_frame(session_id, password_of(session_id))
        self._socket.sendall(taking + _frame(_HEADER.pack(2, _CLOSE)))
        with contextlib.suppress(ConnectionResetError):
            while self._socket.recv(4096):
                pass  # what it answers proves nothing yet: the owner may have been quicker

    def _receive(self) -> bytes:
        (length,) = struct.unpack(">i", self._exactly(4))
        return self._exactly(length)

    def _exactly(self, count: int) -> bytes:
        received = b""
        while len(received) < count:
            part = self._socket.recv(count - len(received))
            if not part:
                raise ExpiryError(f"the server hung up after {len(received)} of {count} bytes")
            received += part
        return received


def _frame(body: bytes) -> bytes:
    return struct.pack(">i", len(body)) + body


def _connect_frame(session_id: int, password: bytes) -> bytes:
    start = _CONNECT.pack(0, 0, _SESSION_TIMEOUT_MS, session_id, len(password))
    return _frame(start + password + b"\0")
