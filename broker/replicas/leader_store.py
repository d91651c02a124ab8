"""The part of ZooKeeper that replicas need: the ISRs of partitions led here, the assignments of topics.

Source: ``ZkIsrManager`` and ``ReplicationUtils.updateLeaderAndIsr`` of release 2.8.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

import structlog

from barnabas.cluster.model.epochs import PartitionVersion
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, PartitionState
from barnabas.cluster.zk.schema.body import ZnodeDecodeError
from barnabas.cluster.zk.store import ZooKeeperStore

PARTITIONS_PER_NOTIFICATION = 1000
"""Partitions in one notification, so that it fits into a znode with the longest topic names."""

_log = structlog.get_logger(__name__)


class LeaderStore:
    """Partition states, ISR notifications and assignments in one ZooKeeper session."""

    def __init__(self, store: ZooKeeperStore) -> None:
        self._store = store

    async def write_partition_state(
        self, topic_partition: TopicPartition, state: PartitionState
    ) -> PartitionVersion:
        """Write ``state`` if its version is the current one, and return the new version.

        Raises:
            BadVersion: ZooKeeper has another version.
            NoNode: The partition has no state.
            ZooKeeperError: The write may or may not have happened.
        """
        written = await self._store.partitions.update_as_leader(
            topic_partition, state.leader_and_isr, state.controller_epoch
        )
        return written.version

    async def read_partition_state(self, topic_partition: TopicPartition) -> PartitionState | None:
        """Read the current state; None if there is none or it cannot be decoded."""
        try:
            return (await self._store.partitions.read([topic_partition])).get(topic_partition)
        except ZnodeDecodeError as error:
            _log.error("the partition's state cannot be read", error=str(error))
            return None

    async def topic_names(self) -> Collection[str]:
        """Return the names of all topics."""
        return await self._store.topics.names()

    async def assignments_of(self, topic: str) -> Mapping[int, Assignment] | None:
        """Return the assignment of each partition; None if the topic has none or it cannot be decoded."""
        try:
            found = (await self._store.topics.read([topic])).get(topic)
        except ZnodeDecodeError as error:
            _log.error("the topic's assignment cannot be read", error=str(error))
            return None
        return None if found is None else found.partitions

    async def announce_isr_changes(self, topic_partitions: Sequence[TopicPartition]) -> None:
        """Write ``/isr_change_notification`` nodes for the controller.

        If one write fails, the earlier ones stay. The caller repeats all of them, which does no harm.
        """
        for start in range(0, len(topic_partitions), PARTITIONS_PER_NOTIFICATION):
            await self._store.isr_changes.add(topic_partitions[start : start + PARTITIONS_PER_NOTIFICATION])
