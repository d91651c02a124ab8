"""Operations, results and events of ZooKeeper, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

from barnabas.cluster.zk.schema.znode_acls import OPEN, ZnodeAcl

ANY_VERSION = -1
"""The expected version that matches every node."""

MAXIMUM_REQUEST_BYTES = 1_000_000
"""The most bytes of a request, just below ``jute.maxbuffer`` (0xfffff), a server's limit for packets."""

_OVERHEAD_BYTES = 80
"""An upper bound of an operation's bytes besides path and data: headers, lengths, flags, the longest ACL.

The ACL of a readable node makes it 64; the header that ends a transaction adds 9.
"""


class Stat(NamedTuple):
    """The metadata of a node. It is a tuple because a failover creates one for each partition.

    Attributes:
        version: The data version: how often the data was set since the creation.
        czxid: The transaction that created the node.
        mzxid: The transaction that last set the data; initially ``czxid``.
        ephemeral_owner: The session whose end removes the node; 0 for a persistent node.
        pzxid: The transaction that last created or deleted a child; initially ``czxid``.
        ctime_ms: The creation time by ZooKeeper's clock, in milliseconds since 1970.
        mtime_ms: The time at which the data was last set.
        cversion: How often the children changed.
        acl_version: How often the access rights changed.
        data_length: The number of bytes of data.
        children: The number of children.
    """

    version: int
    czxid: int
    mzxid: int
    ephemeral_owner: int = 0
    pzxid: int = 0
    ctime_ms: int = 0
    mtime_ms: int = 0
    cversion: int = 0
    acl_version: int = 0
    data_length: int = 0
    children: int = 0


class Node(NamedTuple):
    """A node's data (empty if it has none) and stat."""

    data: bytes
    stat: Stat


@dataclass(frozen=True, slots=True)
class Create:
    """The operation that creates a node, with ten digits appended if sequential; its result is the path.

    A session with ``zookeeper.set.acl`` replaces ``acl`` by the one that the path has.
    """

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False
    acl: tuple[ZnodeAcl, ...] = OPEN


@dataclass(frozen=True, slots=True)
class Set:
    """The operation that replaces the data of a node with this version; its result is the new stat."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """The operation that deletes a node with this version and no children; its result is None."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """The operation that fails the transaction unless the node has this version; its result is None."""

    path: str
    version: int


Operation = Create | Set | Delete | Check
Answer = str | Stat | None
"""The result of an operation of a transaction: a path for Create, a stat for Set, else None."""


def request_bytes(*operations: Operation) -> int:
    """Return an upper bound of the bytes of a request with these operations (paths without the chroot)."""
    return sum(
        _OVERHEAD_BYTES
        + len(operation.path.encode())
        + (len(operation.data) if isinstance(operation, Create | Set) else 0)
        for operation in operations
    )


class Change(Enum):
    """The changes of a watched path: ``CHILDREN`` from a watch on children, the others from one on data.

    ``UNKNOWN`` follows a reconnection, because the path may have changed while it was not watched.
    """

    CREATED = auto()
    DELETED = auto()
    DATA = auto()
    CHILDREN = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """The event of a watched path that changed; the handler should read it again with a watch."""

    path: str
    change: Change


class SessionEvent(Enum):
    """The events of the session itself.

    DISCONNECTED and RECONNECTED come in pairs, during which the session stays alive. EXPIRED comes at most
    once, as the last event: the session expired, or was given up because no connection could be made for too
    long. Then the owner must open a new session.
    """

    DISCONNECTED = auto()
    RECONNECTED = auto()
    EXPIRED = auto()


ZooKeeperEvent = WatchEvent | SessionEvent
OnEvent = Callable[[ZooKeeperEvent], None]
