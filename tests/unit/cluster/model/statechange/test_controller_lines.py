"""Every line of a controller, word for word as release 2.8 logs it."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange.controller_lines import ControllerLines
from barnabas.cluster.model.statechange.line import StateChange
from barnabas.cluster.model.statechange.reader import read_message

ONE, TWO = BrokerId(1), BrokerId(2)
TP = TopicPartition("orders", 3)
KNOWN = LeaderAndIsr(TWO, LeaderEpoch(4), (TWO, ONE), PartitionVersion(7))
STATE = PartitionState(KNOWN, ControllerEpoch(3))
SPELLED_STATE = "(Leader:2,ISR:2,1,LeaderEpoch:4,ZkVersion:7,ControllerEpoch:3)"
ASSIGNMENT = Assignment((ONE, TWO))
BROKER = Broker(TWO, BrokerEpoch(9), (Endpoint("GRPC", "b", 19092),))
STOP = StopReplicaPartition(TP, LeaderEpoch(-2), delete=True)
LINES = ControllerLines(ONE, ControllerEpoch(3))
FAILURE = "kafka.common.StateChangeFailedException: Failed to elect leader"

CASES: list[tuple[StateChange, str, str]] = [
    (
        LINES.partition_new(TP, "NonExistentPartition", (ONE, TWO)),
        "INFO",
        (
            "Changed partition orders-3 state from NonExistentPartition to NewPartition with assigned "
            "replicas 1,2"
        ),
    ),
    (
        LINES.partition_online(TP, "OfflinePartition", KNOWN),
        "INFO",
        (
            "Changed partition orders-3 from OfflinePartition to OnlinePartition with state "
            "LeaderAndIsr(leader=2, leaderEpoch=4, isr=List(2, 1), zkVersion=7)"
        ),
    ),
    (
        LINES.partition_down(TP, "OnlinePartition", "OfflinePartition"),
        "TRACE",
        "Changed partition orders-3 state from OnlinePartition to OfflinePartition",
    ),
    (
        LINES.partition_failed(TP, "OfflinePartition", "OnlinePartition", FAILURE),
        "ERROR",
        (
            "Controller 1 epoch 3 failed to change state for partition orders-3 from OfflinePartition to "
            "OnlinePartition"
        ),
    ),
    (
        LINES.replica_changed(TWO, TP, "OnlineReplica", "OfflineReplica"),
        "TRACE",
        "Changed state of replica 2 for partition orders-3 from OnlineReplica to OfflineReplica",
    ),
    (
        LINES.replica_failed(TWO, TP, "NewReplica", "OnlineReplica", FAILURE),
        "ERROR",
        (
            "Controller 1 epoch 3 initiated state change of replica 2 for partition orders-3 from NewReplica "
            "to OnlineReplica failed"
        ),
    ),
    (
        LINES.removed_from_isr(TP, STATE, ONE),
        "INFO",
        (
            f"Partition orders-3 state changed to {SPELLED_STATE} after removing replica 1 from the ISR as "
            "part of transition to OfflineReplica"
        ),
    ),
    (
        LINES.sending_leader_and_isr(LeaderAndIsrPartition(TP, STATE, ASSIGNMENT), TWO),
        "TRACE",
        (
            "Sending become-leader LeaderAndIsr request LeaderAndIsrPartitionState(topicName='orders', "
            "partitionIndex=3, controllerEpoch=3, leader=2, leaderEpoch=4, isr=[2, 1], zkVersion=7, "
            "replicas=[1, 2], addingReplicas=[], removingReplicas=[], isNew=false) to broker 2 for partition "
            "orders-3"
        ),
    ),
    (
        LINES.sending_leader_and_isr(LeaderAndIsrPartition(TP, STATE, ASSIGNMENT, is_new=True), ONE),
        "TRACE",
        (
            "Sending become-follower LeaderAndIsr request LeaderAndIsrPartitionState(topicName='orders', "
            "partitionIndex=3, controllerEpoch=3, leader=2, leaderEpoch=4, isr=[2, 1], zkVersion=7, "
            "replicas=[1, 2], addingReplicas=[], removingReplicas=[], isNew=true) to broker 1 for partition "
            "orders-3"
        ),
    ),
    (
        LINES.sending_leader_and_isr_batch(TWO, 5, 7),
        "INFO",
        "Sending LeaderAndIsr request to broker 2 with 5 become-leader and 7 become-follower partitions",
    ),
    (
        LINES.sending_update_metadata_batch((), 0),
        "INFO",
        "Sending UpdateMetadata request to brokers Set() for 0 partitions",
    ),
    (
        LINES.sending_stop_replica(STOP, TWO),
        "TRACE",
        (
            "Sending StopReplica request StopReplicaPartitionState(partitionIndex=3, leaderEpoch=-2, "
            "deletePartition=true) to broker 2 for partition orders-3"
        ),
    ),
    (
        LINES.sending_stop_replica_batch(4, TWO),
        "INFO",
        "Sending StopReplica request for 4 replicas to broker 2",
    ),
    (
        LINES.received_response(UpdateMetadataResponse(ErrorCode.NONE), 6, BROKER),
        "TRACE",
        (
            "Received response UpdateMetadataResponseData(errorCode=0) for request UPDATE_METADATA with "
            "correlation id 6 sent to broker b:19092 (id: 2 rack: null)"
        ),
    ),
    (
        LINES.reassignment_sent(STATE, ASSIGNMENT, TWO, TP),
        "INFO",
        (
            f"Sent LeaderAndIsr request {SPELLED_STATE} with new replica assignment "
            f"ReplicaAssignment(replicas=1,2, "
            "addingReplicas=, removingReplicas=) to leader 2 for partition being reassigned orders-3"
        ),
    ),
    (
        LINES.reassignment_not_sent(ASSIGNMENT, TP),
        "ERROR",
        (
            "Failed to send LeaderAndIsr request with new replica assignment ReplicaAssignment(replicas=1,2, "
            "addingReplicas=, removingReplicas=) to leader for partition being reassigned orders-3"
        ),
    ),
]
WITHOUT_EPOCH: list[tuple[StateChange, str, str]] = [
    (LINES.replicas_offline((TP,), TWO), "INFO", "Mark replicas orders-3 on broker 2 as offline"),
    (
        LINES.leader_and_isr_error(
            ErrorCode.STALE_BROKER_EPOCH, LeaderAndIsrResponse(ErrorCode.STALE_BROKER_EPOCH), TWO
        ),
        "ERROR",
        (
            "Received error STALE_BROKER_EPOCH in LeaderAndIsr response "
            "LeaderAndIsrResponseData(errorCode=77, partitionErrors=[], topics=[]) from broker 2"
        ),
    ),
    (
        LINES.update_metadata_error(
            ErrorCode.STALE_BROKER_EPOCH, UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH), TWO
        ),
        "ERROR",
        (
            "Received error STALE_BROKER_EPOCH in UpdateMetadata response "
            "UpdateMetadataResponseData(errorCode=77) from broker 2"
        ),
    ),
]


def by_kind(case: object) -> str:
    return case.kind.value if isinstance(case, StateChange) else ""


@pytest.mark.parametrize(("line", "level", "text"), CASES, ids=by_kind)
def test_a_line_of_the_active_controller(line: StateChange, level: str, text: str) -> None:
    assert (line.level.name, line.message) == (level, f"[Controller id=1 epoch=3] {text}")
    assert read_message(line.message).kind is line.kind


@pytest.mark.parametrize(("line", "level", "text"), WITHOUT_EPOCH, ids=by_kind)
def test_a_line_outside_a_transition_has_no_epoch(line: StateChange, level: str, text: str) -> None:
    assert (line.level.name, line.message) == (level, f"[Controller id=1] {text}")
    assert read_message(line.message).kind is line.kind


def test_a_failure_carries_its_cause() -> None:
    assert LINES.partition_failed(TP, "OfflinePartition", "OnlinePartition", FAILURE).cause == FAILURE
