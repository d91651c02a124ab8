"""What all who answer the core's questions share: who they are, how they fence and how they read many nodes.

A few of many nodes may be unreadable: one that a person spoiled must not hide the others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from barnabas.cluster.zk.fence import Fence
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.protocol.effects import Reign

K = TypeVar("K")
V = TypeVar("V")

Answerer = Callable[[ZooKeeperStore, Any], Awaitable[object]]
"""Answers one kind of question from a session's stores."""

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


def fence_of(reign: Reign) -> Fence:
    """What each write of this reign shows."""
    return Fence(reign.epoch, reign.fence)


async def read_readable(
    read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], keys: Sequence[K]
) -> dict[K, V]:
    """What ``read`` answers for those of ``keys`` whose nodes can be read; each other one is logged.

    Args:
        read: Reads many at once, and raises ``ZnodeDecodeError`` if one of them is unreadable.
        keys: What to read.
    """
    if not keys:
        return {}
    try:
        return dict(await read(keys))
    except ZnodeDecodeError as error:
        if len(keys) == 1:
            _log.error("skipped a node that cannot be read", error=str(error))
            return {}
    middle = len(keys) // 2
    # Halving finds a few bad ones among thousands in a few dozen reads.
    return await read_readable(read, keys[:middle]) | await read_readable(read, keys[middle:])
