"""The answers from ZooKeeper to questions about reassignments."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import PartitionState
from barnabas.cluster.zk.client.errors import BadVersion, NoNode
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.partitions.effects import WatchPartitionStates
from barnabas.controller.core.protocol.effects import Ask
from barnabas.controller.core.topics.effects import (
    ReadReassignments,
    RequestedReassignments,
    WriteReassignments,
)
from barnabas.controller.zookeeper.reading import Answerer, fence_of, read_readable


async def _watch_states(
    store: ZooKeeperStore, question: WatchPartitionStates
) -> Mapping[TopicPartition, PartitionState]:
    return await read_readable(lambda some: store.partitions.read(some, watch=True), question.partitions)


async def _read(store: ZooKeeperStore, _: ReadReassignments) -> RequestedReassignments | None:
    found = await store.reassignments.read(watch=True)
    return None if found is None else RequestedReassignments(*found)


async def _write(store: ZooKeeperStore, question: WriteReassignments) -> bool:
    try:
        await store.reassignments.leave(question.targets, question.version, fence_of(question.fence))
    except (BadVersion, NoNode):
        return False
    return True


REASSIGNMENT: Mapping[type[Ask[Any]], Answerer] = MappingProxyType(
    {WatchPartitionStates: _watch_states, ReadReassignments: _read, WriteReassignments: _write}
)
"""The functions that answer these questions, by the kind of question."""
