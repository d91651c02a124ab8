"""Expiry of another client's ZooKeeper session, with requests to the server only.

A client that knows a session's id and password can move the session to its own connection and close it there.
Ids are public (the ``ephemeralOwner`` of a znode), and the server derives the password from the id alone
(``ZooKeeperServer.generatePasswd``).
"""

from __future__ import annotations

import contextlib

from barnabas.cluster.zk.client.connect_string import parse_connect_string
from barnabas.local.zookeeper_wire import Connection, WireError

_SUPER_SECRET = 0xB3415C00
_MULTIPLIER, _INCREMENT, _MASK = 0x5DEECE66D, 0xB, (1 << 48) - 1
"""The constants of ``java.util.Random``, a linear congruential generator of 48 bits."""

_PASSWORD_BYTES = 16
_TRIES = 10
_TIMEOUT_S = 10.0
"""Seconds to wait for each response."""


def password_of(session_id: int) -> bytes:
    """Return the password that a ZooKeeper server gives to a session."""
    seed = ((session_id ^ _SUPER_SECRET) ^ _MULTIPLIER) & _MASK
    password = b""
    while len(password) < _PASSWORD_BYTES:
        seed = (seed * _MULTIPLIER + _INCREMENT) & _MASK
        password += (seed >> 16).to_bytes(4, "little")
    return password


def expire_owner(zookeeper: str, path: str) -> int:
    """End the session that owns an ephemeral znode, with the first server that answers.

    Args:
        zookeeper: The connect string; every server of an ensemble can end every session.
        path: The znode below the chroot, such as ``/brokers/ids/1``.

    Returns:
        The id of the session.

    Raises:
        WireError: The znode does not exist, no session owns it, or the server refused.
        OSError: No server answers; the error is that of the last one.
        ValueError: The connect string is malformed.
    """
    servers, chroot = parse_connect_string(zookeeper)
    *others, last = servers.split(",")
    for server in others:
        with contextlib.suppress(OSError):
            return _expire_owner(server, chroot + path)
    return _expire_owner(last, chroot + path)


def _expire_owner(address: str, path: str) -> int:
    with Connection(address, _TIMEOUT_S) as own:
        own.connect()
        stat = own.stat(path)
        if stat is None:
            raise WireError(f"{path}: there is no such znode")
        if stat.owner == 0:
            raise WireError(f"{path} is no ephemeral znode: no session owns it")
        # The owner may reconnect before the request to close its session arrives.
        for _ in range(_TRIES):
            with Connection(address, _TIMEOUT_S) as taken:
                taken.end_session(stat.owner, password_of(stat.owner))
            now = own.stat(path)
            if now is None or now.owner != stat.owner:
                return stat.owner
    raise WireError(f"session {stat.owner:#x} still owns {path} after {_TRIES} tries to end it")
