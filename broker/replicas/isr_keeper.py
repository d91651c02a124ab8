"""The changes of the ISRs of partitions led here: shrinks and expansions in ZooKeeper.

Each change is a conditional write of the partition's state; ``core.replication.replica`` decides what its
outcome means. Source: ``Partition.maybeShrinkIsr``/``maybeExpandIsr``,
``ReplicationUtils.updateLeaderAndIsr`` and ``ZkIsrManager`` of Kafka 2.8.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import structlog

from barnabas.broker.core.replication.isr_changes import CHECK_INTERVAL_MS, IsrChanges
from barnabas.broker.core.replication.replica import Conflict, IsrProposal
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions, monotonic_ms
from barnabas.broker.replicas.leader_store import LeaderStore
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import PartitionState
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.runtime.turn import paced
from barnabas.cluster.zk.client.errors import BadVersion, NoNode, ZooKeeperError

RETRY_MS = 500
"""The pause in milliseconds before a write is tried again."""

_log = structlog.get_logger(__name__)


class IsrKeeper:
    """The writer of ISR changes, one at a time per partition, until each is written or superseded.

    Args:
        hosted: This broker's partitions.
        store: Returns the store of the current ZooKeeper session.
        supervisor: Owns the writes.
        metrics: Counts shrinks and expansions.
    """

    def __init__(
        self,
        hosted: HostedPartitions,
        store: Callable[[], LeaderStore],
        supervisor: Supervisor,
        metrics: Metrics,
    ) -> None:
        self._hosted = hosted
        self._store = store
        self._supervisor = supervisor
        self._metrics = metrics
        self._changes = IsrChanges(monotonic_ms())

    def follower_may_join(self, partition: HostedPartition, replica_id: BrokerId) -> None:
        """Begin to add a follower that has caught up to the ISR."""
        self._submit(partition, partition.replica.propose_expansion(replica_id))

    async def check_regularly(self) -> None:
        """Check all partitions every half ``replica.lag.time.max.ms``."""
        while True:
            await asyncio.sleep(self._hosted.settings.lag_time_max_ms / 2000)
            async for partition in paced(tuple(self._hosted.all)):
                if self._hosted.get(partition.topic_partition) is partition:
                    self.check(partition)

    def check(self, partition: HostedPartition) -> None:
        """Shrink or expand the ISR of ``partition`` if that is due."""
        proposal = partition.replica.propose_shrink(partition.log.log_end_offset, monotonic_ms())
        if proposal is not None:
            self._submit(partition, proposal)
            return
        newcomer = partition.replica.next_to_join()
        if newcomer is not None:
            self.follower_may_join(partition, newcomer)

    def _submit(self, partition: HostedPartition, proposal: IsrProposal) -> None:
        _log.info(
            "shrinking ISR" if proposal.newcomer is None else "expanding ISR",
            partition=str(partition.topic_partition),
            before=list(partition.replica.isr),
            after=list(proposal.state.leader_and_isr.isr),
            high_watermark=partition.replica.high_watermark,
            log_end_offset=partition.log.log_end_offset,
        )
        self._supervisor.spawn(f"isr-of-{partition.topic_partition}", self._write(partition, proposal))

    async def _write(self, partition: HostedPartition, proposal: IsrProposal) -> None:
        """Write until the outcome is known, a LeaderAndIsr supersedes the change, or the replica is gone."""
        name, is_logged = partition.topic_partition, False
        while self._is_pending(partition, proposal):
            try:
                if await self._write_once(partition, proposal):
                    return
                reason = "ZooKeeper has another version, but no state that can be read"
            except NoNode:
                # The topic is being deleted; a StopReplica will follow.
                _log.warning("ISR not written: the partition has no state", partition=str(name))
                return
            except ZooKeeperError as error:
                reason = str(error)
            if not is_logged:
                _log.warning("ISR not written yet; trying again", partition=str(name), error=reason)
                is_logged = True
            await asyncio.sleep(RETRY_MS / 1000)

    def _is_pending(self, partition: HostedPartition, proposal: IsrProposal) -> bool:
        """Return whether the change may be written: a topic created again has the same versions as before."""
        is_hosted = self._hosted.get(partition.topic_partition) is partition
        return is_hosted and partition.replica.pending is proposal

    async def _write_once(self, partition: HostedPartition, proposal: IsrProposal) -> bool:
        """Try one conditional write; return whether its outcome is known."""
        store, name = self._store(), partition.topic_partition
        try:
            version = await store.write_partition_state(name, proposal.state)
        except BadVersion:
            found = await store.read_partition_state(name)
            if found is None:
                return False
            if self._is_pending(partition, proposal):
                self._resolve(partition, proposal, found)
            return True
        if self._is_pending(partition, proposal):
            rose = partition.replica.isr_written(
                proposal, version, partition.log.log_end_offset, monotonic_ms()
            )
            self._committed(partition, proposal, rose=rose)
        return True

    def _resolve(self, partition: HostedPartition, proposal: IsrProposal, found: PartitionState) -> None:
        conflict, rose = partition.replica.isr_conflicts(
            proposal, found, partition.log.log_end_offset, monotonic_ms()
        )
        _log.warning(
            "ISR write met another version",
            partition=str(partition.topic_partition),
            outcome=conflict.value,
            found=str(found),
        )
        if conflict in {Conflict.WRITTEN_BEFORE, Conflict.ADOPTED}:
            self._committed(partition, proposal, rose=rose)

    def _committed(self, partition: HostedPartition, proposal: IsrProposal, *, rose: bool) -> None:
        (self._metrics.isr_shrinks if proposal.newcomer is None else self._metrics.isr_expands).inc()
        self._changes.add(partition.topic_partition, monotonic_ms())
        # This is Kafka's line: nothing else at INFO shows how an ISR grew, and the log analysis reads it.
        _log.info(
            f"[Partition {partition.topic_partition} broker={self._hosted.broker_id}] ISR updated to "
            f"{','.join(map(str, partition.replica.isr))} and version updated to "
            f"[{partition.replica.version}]"
        )
        if rose:
            self._hosted.high_watermark_rose(partition)
        # Another follower may have caught up while this change was pending.
        self.check(partition)

    async def announce_changes(self) -> None:
        """Notify the controller of changed ISRs, in batches; none is lost while ZooKeeper is unreachable."""
        while True:
            await asyncio.sleep(CHECK_INTERVAL_MS / 1000)
            due = self._changes.take_due(monotonic_ms())
            if due:
                try:
                    await self._store().announce_isr_changes(due)
                except ZooKeeperError as error:
                    self._changes.put_back(due)
                    _log.warning("ISR changes not announced yet", partitions=len(due), error=str(error))
