"""The TCP ports of a local cluster."""

from __future__ import annotations

import fcntl
import itertools
import os
import random
import socket
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

HOST = "127.0.0.1"

_FIRST, _LAST = 20000, 32000
"""The range of unused ports.

It lies below the ports of outgoing connections (32768 and up on Linux), so that no connection takes the port
of a dead broker.
"""

_GRPC, _METRICS, _ZOOKEEPER = 1000, 2000, 3000
"""The distances of these ports from those for clients."""

OFFSETS = f"gRPC is {_GRPC} above, metrics {_METRICS}, ZooKeeper {_ZOOKEEPER}"
"""A description of the further ports that `derived` uses."""


class PortError(ValueError):
    """An error for ports that are not available; the message names the port and what was expected."""


@dataclass(frozen=True, slots=True)
class BrokerPorts:
    """The ports of one broker: for clients, for other brokers, and for the metrics page."""

    kafka: int
    grpc: int
    metrics: int


@dataclass(frozen=True, slots=True)
class ClusterPorts:
    """The ports of ZooKeeper and of each broker in turn."""

    zookeeper: int
    brokers: tuple[BrokerPorts, ...]


@dataclass(slots=True)
class _Cursor:
    """The memory of `free_ports` in this process.

    Attributes:
        next: The port after the last one that was returned; None before the first call.
        claims: The descriptor of the file in which ports are claimed; None before the first claim.
    """

    next: int | None = None
    claims: int | None = None


_cursor = _Cursor()


def check_room(port: int, brokers: int) -> None:
    """Refuse a first port above which there are too few others.

    Raises:
        PortError: The highest port that `derived` would use does not exist.
    """
    last = 65535 - _ZOOKEEPER - brokers
    if not 0 <= port <= last:
        raise PortError(
            f"--port {port} does not leave room for {brokers} brokers ({OFFSETS}): expected 1 to {last}, "
            f"or 0 for any free ports"
        )


def derived(port: int, brokers: int) -> ClusterPorts:
    """Return ports from ``port`` for clients; gRPC 1000, metrics 2000 and ZooKeeper 3000 above.

    Raises:
        PortError: The highest port does not exist, or one is in use.
    """
    check_room(port, brokers)
    ports = ClusterPorts(
        zookeeper=port + _ZOOKEEPER,
        brokers=tuple(BrokerPorts(port + i, port + i + _GRPC, port + i + _METRICS) for i in range(brokers)),
    )
    for number, role in _listeners(ports):
        if not _is_free(number):
            raise PortError(
                f"--port {port}: {HOST}:{number}, where {role} would listen, is taken ({OFFSETS}); "
                f"choose another --port, or any free ones with --port 0"
            )
    return ports


def any_free(brokers: int) -> ClusterPorts:
    """Return unused ports.

    Raises:
        PortError: There are not enough.
    """
    zookeeper, *others = free_ports(1 + 3 * brokers)
    each = iter(others)
    return ClusterPorts(
        zookeeper, tuple(BrokerPorts(next(each), next(each), next(each)) for _ in range(brokers))
    )


def free_ports(count: int) -> list[int]:
    """Return ``count`` different unused ports.

    A process that calls again gets the ports that follow: nobody may listen yet on those of the first call.
    For the same reason the ports are claimed from this user's other processes until this one ends.

    Raises:
        PortError: There are not enough.
    """
    numbers = range(_FIRST, _LAST)
    if _cursor.next is None or _cursor.next not in numbers:
        _cursor.next = random.choice(numbers)
    start = numbers.index(_cursor.next)
    turned = (*numbers[start:], *numbers[:start])
    free = (number for number in turned if _is_free(number) and _claim(number))
    taken = list(itertools.islice(free, count))
    if len(taken) < count:
        raise PortError(f"fewer than {count} free ports from {_FIRST} to {_LAST}")
    _cursor.next = numbers[(taken[-1] + 1 - _FIRST) % len(numbers)]
    return taken


def _listeners(ports: ClusterPorts) -> Iterator[tuple[int, str]]:
    """Generate each port and its listener."""
    for number, broker in enumerate(ports.brokers, start=1):
        yield broker.kafka, f"broker {number}"
        yield broker.grpc, f"broker {number}'s gRPC"
        yield broker.metrics, f"broker {number}'s metrics page"
    yield ports.zookeeper, "ZooKeeper"


def _claim(port: int) -> bool:
    """Claim a port by a lock on its byte of a file; return False if another process holds the lock.

    Locks of this kind belong to a process and end with it, so that nothing needs to be cleaned up.
    """
    if _cursor.claims is None:
        file = Path(tempfile.gettempdir()) / f"barnabas-ports-{os.getuid()}.lock"
        _cursor.claims = os.open(file, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.lockf(_cursor.claims, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, port)
    except OSError:
        return False
    return True


def _is_free(port: int) -> bool:
    with socket.socket() as probe:
        # A port with connections in TIME_WAIT is free for listeners, so the probe must accept it too.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True
