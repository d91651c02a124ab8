"""What a leader writes to ZooKeeper itself, as the replicas ask for it."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import structlog

from barnabas.cluster.model.epochs import PartitionVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore

PARTITIONS_PER_NOTE = 1000
"""How many partitions share a note, so that it fits into a znode however long their names are."""

_log = structlog.get_logger(__name__)


class LeaderStore:
    """Partition states and ISR notes of one ZooKeeper session; a ``broker.replicas.isr_keeper.IsrStore``."""

    def __init__(self, store: ZooKeeperStore) -> None:
        self._store = store

    async def write_partition_state(
        self, topic_partition: TopicPartition, state: PartitionState
    ) -> PartitionVersion:
        """Write ``state`` under the version in it; the answer is the new version."""
        written = await self._store.partitions.update_as_leader(
            topic_partition, state.leader_and_isr, state.controller_epoch
        )
        return written.version

    async def read_partition_state(self, topic_partition: TopicPartition) -> PartitionState | None:
        """The state as it stands now, or None where there is none that can be read."""
        try:
            return (await self._store.partitions.read([topic_partition])).get(topic_partition)
        except ZnodeDecodeError as error:
            _log.error("the partition's state cannot be read", error=str(error))
            return None

    async def topic_names(self) -> Collection[str]:
        """The topics that there are."""
        return await self._store.topics.names()

    async def assignments_of(self, topic: str) -> Mapping[int, Assignment] | None:
        """The replicas of a topic's partitions, or None where it has none that can be read."""
        try:
            found = (await self._store.topics.read([topic])).get(topic)
        except ZnodeDecodeError as error:
            _log.error("the topic's assignment cannot be read", error=str(error))
            return None
        return None if found is None else found.partitions

    async def announce_isr_changes(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Leave ``isr_change_notification``s for the controller.

        Where one cannot be left, those before it stand: told again, they do no harm.
        """
        for start in range(0, len(topic_partitions), PARTITIONS_PER_NOTE):
            await self._store.isr_changes.add(topic_partitions[start : start + PARTITIONS_PER_NOTE])
