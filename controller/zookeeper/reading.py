"""The common parts of the modules that answer questions: their type, the fence, reads of many nodes.

A node that a person damaged must not prevent reading the others.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeVar

import structlog

from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.protocol.effects import ControllerFence

K = TypeVar("K")
V = TypeVar("V")

Answerer = Callable[[ZooKeeperStore, Any], Awaitable[object]]
"""The type of a function that answers one kind of question from a session's stores."""

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


def fence_of(fence: ControllerFence) -> Fence:
    """Return the fence that each write of this controller epoch carries."""
    return Fence(fence.epoch, fence.epoch_version)


async def read_readable(
    read: Callable[[Sequence[K]], Awaitable[Mapping[K, V]]], keys: Sequence[K]
) -> dict[K, V]:
    """Read the nodes of ``keys``; log and leave out those that are unreadable.

    Args:
        read: Reads many nodes at once, and raises ``ZnodeDecodeError`` if one of them is unreadable.
        keys: The keys of the nodes to read.
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
