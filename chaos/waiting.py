"""To wait for a fact that lies in other processes, and of which nothing tells: to ask until it is there."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka.admin import AdminClient, PartitionMetadata

T = TypeVar("T")

PAUSE_S = 0.1
"""How long to leave the others alone between two questions."""


def wait_until(
    holds: Callable[[], T | None],
    what: str,
    timeout_s: float = 60.0,
    last: Callable[[], object] | None = None,
) -> T:
    """Ask until the answer is true in Python's sense; that answer.

    The deadline is there to end what hangs: it is generous, and nothing is asserted by it.

    Args:
        holds: What to ask; it is asked once at least.
        what: What was waited for, in words.
        timeout_s: How long to ask, in seconds.
        last: What there was to see instead, for the error.

    Raises:
        TimeoutError: The answer never was; the message says ``what``.
    """
    deadline = time.monotonic() + timeout_s
    while not (found := holds()):
        if time.monotonic() > deadline:
            instead = "" if last is None else f"; last: {last()}"
            raise TimeoutError(f"{what} was not seen within {timeout_s:g} s{instead}")
        time.sleep(PAUSE_S)
    return found


def partitions_of(admin: AdminClient, topic: str) -> dict[int, PartitionMetadata]:
    """A topic's partitions by number, as a broker tells that knows it: just after a creation not all do.

    Raises:
        TimeoutError: None does within a minute.
    """
    return wait_until(
        lambda: admin.list_topics(topic, timeout=20).topics[topic].partitions, f"{topic} in the metadata"
    )
