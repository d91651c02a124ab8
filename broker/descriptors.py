"""The file descriptors of the process: how many it may have, and which of them clients do not get.

Kafka leaves this to its operator, who is told to allow at least 100,000. Where fewer are allowed, clients
that connect and say nothing must not take those that logs, ZooKeeper and the other brokers need.
"""

from __future__ import annotations

import resource

ENOUGH = 100_000
"""What Kafka's documentation recommends; a higher limit is not asked for."""

FOR_THE_DISK = 64
"""So many are kept open on the null device, for files that are opened when there are no others left."""


def raise_limit() -> int:
    """Raise the soft limit of open files towards the hard one, up to `ENOUGH`; returns the limit then."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return ENOUGH if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # macOS allows less than the hard limit that it tells
        return soft
    return wanted


def first_kept_back(limit: int) -> int:
    """The number from which on descriptors are no client's: three quarters of ``limit``.

    The system gives the lowest free number. So a connection that got a higher one came when all below were
    in use, and while none keeps such a number, the last quarter is there for all else.
    """
    return limit - limit // 4


def most_peer_connections(limit: int) -> int:
    """So many connections of other brokers there may be: half of what is kept back from clients."""
    return limit // 8
