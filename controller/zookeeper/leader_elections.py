"""The answers from ZooKeeper to questions about elections that a znode requests."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore
from barnabas.controller.core.leader_elections.effects import (
    DeletePreferredReplicaElection,
    ReadPreferredReplicaElection,
)
from barnabas.controller.core.protocol.effects import Ask
from barnabas.controller.zookeeper.reading import Answerer, fence_of

_log = structlog.stdlib.get_logger("kafka.controller.KafkaController")


async def _read(
    store: ZooKeeperStore, _question: ReadPreferredReplicaElection
) -> tuple[TopicPartition, ...] | None:
    try:
        return await store.elections.preferred(watch=True)
    except ZnodeDecodeError as error:
        # An unreadable request names no partition; it is deleted as if its elections were over.
        _log.error("a request for preferred leaders cannot be read", error=str(error))
        return ()


async def _delete(store: ZooKeeperStore, question: DeletePreferredReplicaElection) -> None:
    await store.elections.delete(fence_of(question.fence))


ELECTIONS: Mapping[type[Ask[Any]], Answerer] = {
    ReadPreferredReplicaElection: _read,
    DeletePreferredReplicaElection: _delete,
}
"""The functions that answer these questions, by the kind of question."""
