"""The limit of open files, and the share of it that clients cannot use.

Kafka's documentation asks the operator to allow at least 100,000 files. If fewer are allowed, clients that
only connect must not use up the descriptors that logs, ZooKeeper and the other brokers need.
"""

from __future__ import annotations

import resource

ENOUGH = 100_000
"""The number of files that Kafka's documentation recommends; a broker does not ask for more."""

FOR_THE_DISK = 64
"""Descriptors held on the null device, to be released for log files when no others are left."""


def raise_limit() -> int:
    """Raise the soft limit of open files to the hard one, at most to `ENOUGH`, and return it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = ENOUGH if hard == resource.RLIM_INFINITY else min(hard, ENOUGH)
    if soft == resource.RLIM_INFINITY or soft >= wanted:
        return ENOUGH if soft == resource.RLIM_INFINITY else soft
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):  # macOS allows less than the hard limit it reports
        return soft
    return wanted


def first_kept_back(limit: int) -> int:
    """Return the lowest descriptor number that no client connection may have: three quarters of ``limit``.

    The system assigns the lowest free number, so a connection with a higher one arrived when all lower ones
    were in use. If all such connections are closed, the last quarter remains for everything else.
    """
    return limit - limit // 4


def first_kept_from_logs(limit: int) -> int:
    """Return the lowest descriptor number that no segment of a log may have.

    At least 64 descriptors, or an eighth of ``limit``, are above it, but at most a quarter. They are for the
    session with ZooKeeper, the controller's channels, other brokers and `guaranteed_to_clients`.
    """
    return limit - min(limit // 4, max(64, limit // 8))


def guaranteed_to_clients(limit: int) -> int:
    """Return the number of connections that clients may always have: 32, or a sixteenth of ``limit``.

    Logs may take all descriptors below `first_kept_from_logs`. A broker that accepted no client then could
    get no request to delete a topic either.
    """
    return max(32, limit // 16)


def most_peer_connections(limit: int) -> int:
    """Return the largest number of connections from other brokers: half of what clients cannot use."""
    return limit // 8
