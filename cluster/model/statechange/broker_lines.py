"""Builders of the lines that brokers of release 2.8 log, with one method for each line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    StopReplicaPartition,
    UpdateMetadataPartition,
)
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.line import StateChange


@dataclass(frozen=True, slots=True)
class BrokerLines:
    """A builder of the lines of the broker ``broker_id`` about its partitions."""

    broker_id: BrokerId

    def leader_starts(
        self,
        tp: TopicPartition,
        leader_epoch: LeaderEpoch,
        offset: Offset,
        *,
        high_watermark: Offset,
        isr: Iterable[BrokerId],
        assignment: Assignment,
        previous_leader_epoch: LeaderEpoch,
    ) -> StateChange:
        """INFO: this broker leads ``tp`` from ``leader_epoch`` on, which begins at ``offset``."""
        values = {
            "tp": tp,
            "leader_epoch": leader_epoch,
            "offset": offset,
            "high_watermark": high_watermark,
            "isr": tuple(isr),
            "adding": assignment.adding,
            "removing": assignment.removing,
            "previous_leader_epoch": previous_leader_epoch,
        }
        return StateChange(Kind.LEADER_STARTS, values, self.broker_id)

    def follower_starts(
        self,
        tp: TopicPartition,
        leader_epoch: LeaderEpoch,
        offset: Offset,
        *,
        high_watermark: Offset,
        previous_leader_epoch: LeaderEpoch,
    ) -> StateChange:
        """INFO: this broker follows the leader of ``leader_epoch``; its own log ends at ``offset``."""
        values = {
            "tp": tp,
            "leader_epoch": leader_epoch,
            "offset": offset,
            "high_watermark": high_watermark,
            "previous_leader_epoch": previous_leader_epoch,
        }
        return StateChange(Kind.FOLLOWER_STARTS, values, self.broker_id)

    def make_leader_failed(self, tp: TopicPartition, leader_epoch: LeaderEpoch, cause: str) -> StateChange:
        """ERROR: ZooKeeper could not be read while becoming leader; the change is skipped."""
        values = {"tp": tp, "leader_epoch": leader_epoch}
        return StateChange(Kind.BECOME_LEADER_ZOOKEEPER_EXCEPTION, values, self.broker_id, cause=cause)

    def make_follower_failed(self, tp: TopicPartition, leader_epoch: LeaderEpoch, cause: str) -> StateChange:
        """ERROR: ZooKeeper could not be read while becoming follower; the change is skipped."""
        values = {"tp": tp, "leader_epoch": leader_epoch}
        return StateChange(Kind.BECOME_FOLLOWER_ZOOKEEPER_EXCEPTION, values, self.broker_id, cause=cause)


@dataclass(frozen=True, slots=True)
class RequestLines:
    """A builder of the lines of a broker that handles a request of a controller.

    Attributes:
        broker_id: The broker that handles it.
        controller_id: The controller that sent it.
        controller_epoch: The controller epoch that the request carries.
        correlation_id: The correlation id of the request.
    """

    broker_id: BrokerId
    controller_id: BrokerId
    controller_epoch: ControllerEpoch
    correlation_id: int

    # LeaderAndIsr, the request.

    def handling_leader_and_isr(self, count: int) -> StateChange:
        """INFO: the broker begins to handle a request of ``count`` partitions."""
        return self._line(Kind.LEADER_AND_ISR_HANDLING, {"count": count}, epoch=False)

    def finished_leader_and_isr(self, duration_ms: int, count: int) -> StateChange:
        """INFO: the request was handled in ``duration_ms`` milliseconds."""
        values = {"duration_ms": duration_ms, "count": count}
        return self._line(Kind.LEADER_AND_ISR_FINISHED, values, epoch=False)

    def received_leader_and_isr(self, partition: LeaderAndIsrPartition) -> StateChange:
        """TRACE: one partition of the request."""
        return self._line(Kind.LEADER_AND_ISR_RECEIVED, {"leadership": partition})

    def stale_leader_and_isr(self, latest: ControllerEpoch) -> StateChange:
        """WARN: the whole request is ignored, the broker knows the controller epoch ``latest``."""
        return self._line(Kind.LEADER_AND_ISR_STALE_CONTROLLER, {"latest_controller_epoch": latest})

    def failed_leader_and_isr(self, cause: str, tp: TopicPartition | None = None) -> StateChange:
        """ERROR: handling it failed, for ``tp`` or as a whole; ``cause`` is the exception."""
        values = {} if tp is None else {"tp": tp}
        return self._line(Kind.LEADER_AND_ISR_FAILED, values, cause)

    def ignoring_offline_directory(self, tp: TopicPartition) -> StateChange:
        """WARN: ``tp`` is ignored, its replica here lies in an offline log directory."""
        return self._line(Kind.LEADER_AND_ISR_OFFLINE_DIR, {"tp": tp})

    def ignoring_not_assigned(self, tp: TopicPartition, replicas: Iterable[BrokerId]) -> StateChange:
        """WARN: ``tp`` is ignored, this broker is none of its ``replicas``."""
        return self._line(Kind.LEADER_AND_ISR_NOT_ASSIGNED, {"tp": tp, "replicas": tuple(replicas)})

    def ignoring_stale_epoch(
        self, tp: TopicPartition, leader_epoch: LeaderEpoch, current: LeaderEpoch
    ) -> StateChange:
        """WARN: ``tp`` is ignored, its ``leader_epoch`` is below the ``current`` one."""
        values = {"tp": tp, "leader_epoch": leader_epoch, "current_leader_epoch": current}
        return self._line(Kind.LEADER_AND_ISR_STALE_EPOCH, values)

    def ignoring_same_epoch(self, tp: TopicPartition, leader_epoch: LeaderEpoch) -> StateChange:
        """INFO: ``tp`` is ignored, its ``leader_epoch`` is the current one."""
        return self._line(Kind.LEADER_AND_ISR_SAME_EPOCH, {"tp": tp, "leader_epoch": leader_epoch})

    # LeaderAndIsr, the two transitions.

    def starting_leader_transition(self, tp: TopicPartition) -> StateChange:
        """TRACE: ``tp`` begins to become led here."""
        return self._line(Kind.TRANSITION_STARTED, {"tp": tp})

    def completed_leader_transition(self, tp: TopicPartition) -> StateChange:
        """TRACE: ``tp`` is led here."""
        return self._line(Kind.TRANSITION_COMPLETED, {"tp": tp})

    def starting_follower_transition(self, tp: TopicPartition, leader: BrokerId) -> StateChange:
        """TRACE: ``tp`` begins to follow ``leader``."""
        return self._line(Kind.TRANSITION_STARTED, {"tp": tp, "leader": leader})

    def completed_follower_transition(self, tp: TopicPartition, leader: BrokerId) -> StateChange:
        """TRACE: ``tp`` follows ``leader``."""
        return self._line(Kind.TRANSITION_COMPLETED, {"tp": tp, "leader": leader})

    def stopped_fetchers_of_leaders(self, count: int) -> StateChange:
        """INFO: fetching of ``count`` partitions stopped, because this broker leads them."""
        return self._line(Kind.LEADER_FETCHERS_STOPPED, {"count": count})

    def stopped_fetchers_of_followers(self, count: int) -> StateChange:
        """INFO: fetching of ``count`` partitions from their former leaders stopped."""
        return self._line(Kind.FOLLOWER_FETCHERS_STOPPED, {"count": count})

    def skipped_fetcher(self, tp: TopicPartition, leader: BrokerId) -> StateChange:
        """TRACE: no fetcher was added for ``tp``, this broker is shutting down."""
        return self._line(Kind.FETCHER_SKIPPED, {"tp": tp, "leader": leader})

    def already_leader(self, tp: TopicPartition, last: ControllerEpoch) -> StateChange:
        """INFO: ``tp`` was led here before; ``last`` is the controller epoch of its state."""
        return self._line(Kind.BECOME_LEADER_SKIPPED, {"tp": tp, "last_controller_epoch": last})

    def same_leader(self, tp: TopicPartition, last: ControllerEpoch, leader: BrokerId) -> StateChange:
        """INFO: ``tp`` followed the same ``leader`` before."""
        values = {"tp": tp, "last_controller_epoch": last, "leader": leader}
        return self._line(Kind.BECOME_FOLLOWER_SKIPPED, values)

    def leader_offline(self, tp: TopicPartition, last: ControllerEpoch, error: str) -> StateChange:
        """ERROR: ``tp`` cannot be led here, the disk under it failed with ``error``."""
        values = {"tp": tp, "last_controller_epoch": last, "medium": "disk", "error": error}
        return self._line(Kind.BECOME_LEADER_OFFLINE, values)

    def follower_offline(
        self, tp: TopicPartition, last: ControllerEpoch, leader: BrokerId, error: str
    ) -> StateChange:
        """ERROR: ``tp`` cannot follow ``leader``, the disk under it failed with ``error``."""
        values = {"tp": tp, "last_controller_epoch": last, "leader": leader, "medium": "disk", "error": error}
        return self._line(Kind.BECOME_FOLLOWER_OFFLINE, values)

    def new_leader_unavailable(
        self, tp: TopicPartition, last: ControllerEpoch, leader: BrokerId
    ) -> StateChange:
        """ERROR: ``tp`` cannot follow ``leader``, which is not a live broker."""
        values = {"tp": tp, "last_controller_epoch": last, "leader": leader}
        return self._line(Kind.NEW_LEADER_UNAVAILABLE, values)

    # StopReplica.

    def handling_stop_replica(self, count: int) -> StateChange:
        """INFO: the broker begins to handle a request of ``count`` replicas."""
        return self._line(Kind.STOP_REPLICA_HANDLING, {"count": count}, epoch=False)

    def received_stop_replica(self, partition: StopReplicaPartition) -> StateChange:
        """TRACE: one replica of the request."""
        values = {"leadership": partition, "tp": partition.topic_partition}
        return self._line(Kind.STOP_REPLICA_RECEIVED, values)

    def stale_stop_replica(self, latest: ControllerEpoch) -> StateChange:
        """WARN: the whole request is ignored, the broker knows the controller epoch ``latest``."""
        return self._line(Kind.STOP_REPLICA_STALE_CONTROLLER, {"latest_controller_epoch": latest})

    def stop_replica_offline_directory(self, partition: StopReplicaPartition) -> StateChange:
        """WARN: this replica is left as it is, it lies in an offline log directory."""
        return self._line(Kind.STOP_REPLICA_OFFLINE_DIR, self._stop(partition))

    def stop_replica_directory_failed(self, tp: TopicPartition) -> StateChange:
        """ERROR: the log of ``tp`` could not be deleted, its directory went offline meanwhile."""
        return self._line(Kind.STOP_REPLICA_OFFLINE_DIR, {"tp": tp})

    def stop_replica_exception(
        self, partition: StopReplicaPartition, exception: str, error: str
    ) -> StateChange:
        """ERROR: stopping this replica failed with an ``exception`` of that class and text."""
        values = {**self._stop(partition), "exception": exception, "error": error}
        return self._line(Kind.STOP_REPLICA_EXCEPTION, values)

    def stop_replica_stale_epoch(self, partition: StopReplicaPartition, current: LeaderEpoch) -> StateChange:
        """WARN: this replica is left as it is, the request's leader epoch is below the ``current`` one."""
        values = {
            **self._stop(partition),
            "leader_epoch": partition.leader_epoch,
            "current_leader_epoch": current,
        }
        return self._line(Kind.STOP_REPLICA_STALE_EPOCH, values)

    def stop_replica_same_epoch(self, partition: StopReplicaPartition) -> StateChange:
        """INFO: this replica is left as it is, the request's leader epoch is the current one."""
        values = {**self._stop(partition), "leader_epoch": partition.leader_epoch}
        return self._line(Kind.STOP_REPLICA_SAME_EPOCH, values)

    # UpdateMetadata.

    def stale_update_metadata(self, latest: ControllerEpoch) -> StateChange:
        """WARN: the whole request is ignored, the broker knows the controller epoch ``latest``."""
        return self._line(Kind.UPDATE_METADATA_STALE_CONTROLLER, {"latest_controller_epoch": latest})

    def cached_metadata(self, partition: UpdateMetadataPartition) -> StateChange:
        """TRACE: the metadata cache adds one partition of the request."""
        values = {"leadership": partition, "tp": partition.topic_partition}
        return self._line(Kind.METADATA_CACHED, values)

    def deleted_metadata(self, tp: TopicPartition) -> StateChange:
        """TRACE: the metadata cache removes one partition."""
        return self._line(Kind.METADATA_DELETED, {"tp": tp})

    def updated_metadata(self, added: int, deleted: int) -> StateChange:
        """INFO: the metadata cache added and removed so many partitions; not logged if there are none."""
        return self._line(Kind.METADATA_UPDATED, {"count": added, "deleted_count": deleted})

    @staticmethod
    def _stop(partition: StopReplicaPartition) -> dict[str, Any]:
        return {"tp": partition.topic_partition, "delete": partition.delete}

    def _line(
        self, kind: Kind, values: dict[str, Any], cause: str | None = None, *, epoch: bool = True
    ) -> StateChange:
        sender: dict[str, Any] = {"controller": self.controller_id, "correlation_id": self.correlation_id}
        if epoch:
            sender["controller_epoch"] = self.controller_epoch
        return StateChange(kind, sender | values, self.broker_id, cause=cause)
