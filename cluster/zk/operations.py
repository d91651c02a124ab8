"""What is said to and heard from ZooKeeper, as plain data."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple

ANY_VERSION = -1
"""The expected version that fits every node."""

MAXIMUM_REQUEST_BYTES = 1_000_000
"""Just under ``jute.maxbuffer`` (0xfffff bytes), the longest packet that a ZooKeeper server takes."""

_OVERHEAD_BYTES = 64
"""More than an operation needs beside its path and data: headers, lengths, flags and the open ACL."""


class Stat(NamedTuple):
    """What ZooKeeper knows of a node; a tuple, because a failover makes one for each partition.

    Attributes:
        version: How often its data was set since its creation.
        czxid: The transaction that created it.
        mzxid: The transaction that last set its data; at first the one that created it.
        ephemeral_owner: The session whose end removes it; 0 for a persistent node.
        pzxid: The transaction that last created or deleted a child; at first the one that created it.
        ctime_ms: When it was created, by ZooKeeper's clock, in milliseconds since 1970.
        mtime_ms: When its data was last set.
        cversion: How often its children changed.
        acl_version: How often its access rights changed.
        data_length: Bytes of its data.
        children: How many children it has.
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
    """A node's data (empty where it has none) and stat."""

    data: bytes
    stat: Stat


@dataclass(frozen=True, slots=True)
class Create:
    """Create a node; a sequential one gets ten digits appended. Its answer is the created path."""

    path: str
    data: bytes = b""
    ephemeral: bool = False
    sequential: bool = False


@dataclass(frozen=True, slots=True)
class Set:
    """Set a node's data, if it has this version. Its answer is the new stat."""

    path: str
    data: bytes
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Delete:
    """Delete a node without children, if it has this version. Its answer is None."""

    path: str
    version: int = ANY_VERSION


@dataclass(frozen=True, slots=True)
class Check:
    """Fail the transaction unless the node has this version. Its answer is None."""

    path: str
    version: int


Operation = Create | Set | Delete | Check
Answer = str | Stat | None
"""What an operation of a transaction answers: a path for Create, a stat for Set, else None."""


def request_bytes(*operations: Operation) -> int:
    """An upper bound of the bytes of a request with these operations (their paths without the chroot)."""
    return sum(
        _OVERHEAD_BYTES
        + len(operation.path.encode())
        + (len(operation.data) if isinstance(operation, Create | Set) else 0)
        for operation in operations
    )


class Change(Enum):
    """What happened to a watched path: ``CHILDREN`` from a watch on children, the others from one on data.

    ``UNKNOWN`` follows a reconnection: something may have happened while nobody watched.
    """

    CREATED = auto()
    DELETED = auto()
    DATA = auto()
    CHILDREN = auto()
    UNKNOWN = auto()


@dataclass(frozen=True, slots=True)
class WatchEvent:
    """A watched path changed; read it again, with a watch, when the event is handled."""

    path: str
    change: Change


class SessionEvent(Enum):
    """What happened to the session itself.

    DISCONNECTED and RECONNECTED come in pairs and cost nothing but time: the session lives. EXPIRED comes at
    most once and last: the session is over for good, and its owner opens the next one. It expired, or it was
    given up because no connection could be made for too long.
    """

    DISCONNECTED = auto()
    RECONNECTED = auto()
    EXPIRED = auto()


ZooKeeperEvent = WatchEvent | SessionEvent
OnEvent = Callable[[ZooKeeperEvent], None]
