"""A builder of the lines that a controller of release 2.8 logs, with one method for each line."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    ControlResponse,
    LeaderAndIsrPartition,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange.kinds import Kind
from barnabas.cluster.model.statechange.line import StateChange
from barnabas.cluster.model.statechange.responses import api_of, write_response
from barnabas.cluster.model.statechange.values import write_node


@dataclass(frozen=True, slots=True)
class ControllerLines:
    """A builder of the lines of the controller ``controller_id`` with the controller epoch ``epoch``.

    Partition and replica states are given as Kafka names them: ``OnlinePartition``, ``OfflineReplica`` …
    """

    controller_id: BrokerId
    epoch: ControllerEpoch

    def partition_new(self, tp: TopicPartition, source: str, replicas: Iterable[BrokerId]) -> StateChange:
        """INFO: ``tp`` went from ``source`` to NewPartition with these assigned replicas."""
        return self._line(Kind.PARTITION_NEW, {"tp": tp, "from": source, "replicas": tuple(replicas)})

    def partition_online(self, tp: TopicPartition, source: str, leadership: LeaderAndIsr) -> StateChange:
        """INFO: ``tp`` went from ``source`` to OnlinePartition with this leadership."""
        return self._line(Kind.PARTITION_ONLINE, {"tp": tp, "from": source, "leadership": leadership})

    def partition_down(self, tp: TopicPartition, source: str, target: str) -> StateChange:
        """TRACE: ``tp`` went from ``source`` to OfflinePartition or NonExistentPartition."""
        return self._line(Kind.PARTITION_DOWN, {"tp": tp, "from": source, "to": target})

    def partition_failed(self, tp: TopicPartition, source: str, target: str, cause: str) -> StateChange:
        """ERROR: ``tp`` could not go from ``source`` to ``target``; ``cause`` is the exception."""
        values = {"tp": tp, "from": source, "to": target, **self._twice()}
        return self._line(Kind.PARTITION_CHANGE_FAILED, values, cause)

    def replica_changed(self, replica: BrokerId, tp: TopicPartition, source: str, target: str) -> StateChange:
        """TRACE: the replica of ``tp`` on broker ``replica`` went from ``source`` to ``target``."""
        return self._line(Kind.REPLICA_CHANGE, {"replica": replica, "tp": tp, "from": source, "to": target})

    def replica_failed(
        self, replica: BrokerId, tp: TopicPartition, source: str, target: str, cause: str
    ) -> StateChange:
        """ERROR: that replica could not go from ``source`` to ``target``; ``cause`` is the exception."""
        values = {"replica": replica, "tp": tp, "from": source, "to": target, **self._twice()}
        return self._line(Kind.REPLICA_CHANGE_FAILED, values, cause)

    def removed_from_isr(self, tp: TopicPartition, state: PartitionState, replica: BrokerId) -> StateChange:
        """INFO: ``replica`` left the ISR of ``tp`` on its way to OfflineReplica, as ``state`` says."""
        return self._line(Kind.ISR_REMOVAL, {"tp": tp, "leadership": state, "replica": replica})

    def replicas_offline(self, tps: Iterable[TopicPartition], broker: BrokerId) -> StateChange:
        """INFO: ``broker`` reported these replicas as offline; logged without the epoch."""
        return self._line(Kind.REPLICAS_OFFLINE, {"tps": tuple(tps), "broker": broker})

    def sending_leader_and_isr(self, partition: LeaderAndIsrPartition, broker: BrokerId) -> StateChange:
        """TRACE: one partition of a LeaderAndIsr request to ``broker``, to lead or to follow."""
        leads = partition.state.leader_and_isr.leader == broker
        values = {
            "transition": "become-leader" if leads else "become-follower",
            "leadership": partition,
            "broker": broker,
            "tp": partition.topic_partition,
        }
        return self._line(Kind.LEADER_AND_ISR_SENDING, values)

    def sending_leader_and_isr_batch(self, broker: BrokerId, leaders: int, followers: int) -> StateChange:
        """INFO: a LeaderAndIsr request to ``broker``, with so many partitions to lead and to follow."""
        values = {"broker": broker, "leaders": leaders, "followers": followers}
        return self._line(Kind.LEADER_AND_ISR_BATCH, values)

    def sending_update_metadata_batch(self, brokers: Iterable[BrokerId], count: int) -> StateChange:
        """INFO: an UpdateMetadata request of ``count`` partitions to ``brokers``; both may be empty."""
        return self._line(Kind.UPDATE_METADATA_BATCH, {"brokers": tuple(brokers), "count": count})

    def sending_stop_replica(self, partition: StopReplicaPartition, broker: BrokerId) -> StateChange:
        """TRACE: one replica of a StopReplica request to ``broker``."""
        values = {"leadership": partition, "broker": broker, "tp": partition.topic_partition}
        return self._line(Kind.STOP_REPLICA_SENDING, values)

    def sending_stop_replica_batch(self, count: int, broker: BrokerId) -> StateChange:
        """INFO: a StopReplica request of ``count`` replicas to ``broker``."""
        return self._line(Kind.STOP_REPLICA_BATCH, {"count": count, "broker": broker})

    def received_response(
        self, response: ControlResponse, correlation_id: int, broker: Broker, listener: str = GRPC_LISTENER
    ) -> StateChange:
        """TRACE: ``broker`` answered the request ``correlation_id``, which went to its ``listener``."""
        values = {
            "response": write_response(response),
            "api": api_of(response),
            "correlation_id": correlation_id,
            "node": write_node(broker, listener),
        }
        return self._line(Kind.RESPONSE_RECEIVED, values)

    def leader_and_isr_error(
        self, error: ErrorCode, response: LeaderAndIsrResponse, broker: BrokerId
    ) -> StateChange:
        """ERROR: ``broker`` answered LeaderAndIsr with ``error``; logged without the epoch."""
        values = {"error_code": error.name, "response": write_response(response), "broker": broker}
        return self._line(Kind.LEADER_AND_ISR_ERROR, values)

    def update_metadata_error(
        self, error: ErrorCode, response: UpdateMetadataResponse, broker: BrokerId
    ) -> StateChange:
        """ERROR: ``broker`` answered UpdateMetadata with ``error``; logged without the epoch."""
        values = {"error_code": error.name, "response": write_response(response), "broker": broker}
        return self._line(Kind.UPDATE_METADATA_ERROR, values)

    def reassignment_sent(
        self, state: PartitionState, assignment: Assignment, leader: BrokerId, tp: TopicPartition
    ) -> StateChange:
        """INFO: the leader of ``tp`` was sent the assignment of a running reassignment."""
        values = {"leadership": state, "assignment": assignment, "broker": leader, "tp": tp}
        return self._line(Kind.REASSIGNMENT_SENT, values)

    def reassignment_not_sent(self, assignment: Assignment, tp: TopicPartition) -> StateChange:
        """ERROR: that assignment could not be sent to the leader of ``tp``."""
        return self._line(Kind.REASSIGNMENT_NOT_SENT, {"assignment": assignment, "tp": tp})

    def _twice(self) -> dict[str, Any]:
        # Kafka prefixes the exception's text too, so these lines name the controller twice.
        return {"controller": self.controller_id, "controller_epoch": self.epoch}

    def _line(self, kind: Kind, values: dict[str, Any], cause: str | None = None) -> StateChange:
        return StateChange(kind, values, self.controller_id, self.epoch, cause)
