"""Every line of a broker, word for word as release 2.8 logs it."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    StopReplicaPartition,
    UpdateMetadataPartition,
)
from barnabas.cluster.model.statechange.broker_lines import BrokerLines, RequestLines
from barnabas.cluster.model.statechange.line import StateChange
from barnabas.cluster.model.statechange.reader import read_message

ONE, TWO, THREE = BrokerId(1), BrokerId(2), BrokerId(3)
TP = TopicPartition("orders", 3)
STATE = PartitionState(LeaderAndIsr(TWO, LeaderEpoch(4), (TWO, ONE), PartitionVersion(7)), ControllerEpoch(3))
STOP = StopReplicaPartition(TP, LeaderEpoch(4), delete=False)
LAST = ControllerEpoch(2)
OWN = BrokerLines(ONE)
LINES = RequestLines(ONE, THREE, ControllerEpoch(5), 8)
BY = "from controller 3 epoch 5"
IGNORING = "Ignoring LeaderAndIsr request from controller 3 with correlation id 8 "
STOPPING = (
    "Ignoring StopReplica request (delete=false) from controller 3 with correlation id 8 epoch 5 for "
    "partition "
)
STALE = "since its controller epoch 5 is old. Latest known controller epoch is 6"
SENT_BY = "in response to UpdateMetadata request sent by controller 3 epoch 5 with correlation id 8"

CASES: list[tuple[StateChange, str, str]] = [
    (
        OWN.leader_starts(
            TP,
            LeaderEpoch(4),
            Offset(51),
            high_watermark=Offset(50),
            isr=(ONE, TWO),
            assignment=Assignment((ONE, TWO, THREE), adding=(THREE,)),
            previous_leader_epoch=LeaderEpoch(3),
        ),
        "INFO",
        (
            "Leader orders-3 starts at leader epoch 4 from offset 51 with high watermark 50 ISR [1,2] "
            "addingReplicas [3] removingReplicas []. Previous leader epoch was 3."
        ),
    ),
    (
        OWN.follower_starts(
            TP,
            LeaderEpoch(4),
            Offset(51),
            high_watermark=Offset(50),
            previous_leader_epoch=LeaderEpoch(-1),
        ),
        "INFO",
        (
            "Follower orders-3 starts at leader epoch 4 from offset 51 with high watermark 50. Previous "
            "leader epoch was -1."
        ),
    ),
    (
        OWN.make_leader_failed(TP, LeaderEpoch(4), "x.Y: z"),
        "ERROR",
        (
            "A ZooKeeper client exception has occurred and makeLeader will be skipping the state change for "
            "the partition orders-3 with leader epoch: 4."
        ),
    ),
    (
        OWN.make_follower_failed(TP, LeaderEpoch(4), "x.Y: z"),
        "ERROR",
        (
            "A ZooKeeper client exception has occurred. makeFollower will be skipping the state change for "
            "the partition orders-3 with leader epoch: 4."
        ),
    ),
    (
        LINES.handling_leader_and_isr(12),
        "INFO",
        "Handling LeaderAndIsr request correlationId 8 from controller 3 for 12 partitions",
    ),
    (
        LINES.finished_leader_and_isr(11, 12),
        "INFO",
        "Finished LeaderAndIsr request in 11ms correlationId 8 from controller 3 for 12 partitions",
    ),
    (
        LINES.received_leader_and_isr(LeaderAndIsrPartition(TP, STATE, Assignment((ONE, TWO)))),
        "TRACE",
        (
            "Received LeaderAndIsr request LeaderAndIsrPartitionState(topicName='orders', partitionIndex=3, "
            "controllerEpoch=3, leader=2, leaderEpoch=4, isr=[2, 1], zkVersion=7, replicas=[1, 2], "
            f"addingReplicas=[], removingReplicas=[], isNew=false) correlation id 8 {BY}"
        ),
    ),
    (LINES.stale_leader_and_isr(ControllerEpoch(6)), "WARN", IGNORING + STALE),
    (
        LINES.failed_leader_and_isr("x.Y: z"),
        "ERROR",
        f"Error while processing LeaderAndIsr request with correlationId 8 received {BY}",
    ),
    (
        LINES.failed_leader_and_isr("x.Y: z", TP),
        "ERROR",
        f"Error while processing LeaderAndIsr request correlationId 8 received {BY} for partition orders-3",
    ),
    (
        LINES.ignoring_offline_directory(TP),
        "WARN",
        IGNORING
        + "epoch 5 for partition orders-3 as the local replica for the partition is in an offline log "
        "directory",
    ),
    (
        LINES.ignoring_not_assigned(TP, (TWO, THREE)),
        "WARN",
        IGNORING + "epoch 5 for partition orders-3 as itself is not in assigned replica list 2,3",
    ),
    (
        LINES.ignoring_stale_epoch(TP, LeaderEpoch(3), LeaderEpoch(4)),
        "WARN",
        IGNORING
        + "epoch 5 for partition orders-3 since its associated leader epoch 3 is smaller than the current "
        "leader epoch 4",
    ),
    (
        LINES.ignoring_same_epoch(TP, LeaderEpoch(4)),
        "INFO",
        IGNORING
        + "epoch 5 for partition orders-3 since its associated leader epoch 4 matches the current leader "
        "epoch",
    ),
    (
        LINES.starting_leader_transition(TP),
        "TRACE",
        (
            f"Handling LeaderAndIsr request correlationId 8 {BY} starting the become-leader transition for "
            "partition orders-3"
        ),
    ),
    (
        LINES.completed_leader_transition(TP),
        "TRACE",
        (
            f"Completed LeaderAndIsr request correlationId 8 {BY} for the become-leader transition for "
            f"partition orders-3"
        ),
    ),
    (
        LINES.starting_follower_transition(TP, TWO),
        "TRACE",
        (
            f"Handling LeaderAndIsr request correlationId 8 {BY} starting the become-follower transition for "
            "partition orders-3 with leader 2"
        ),
    ),
    (
        LINES.completed_follower_transition(TP, TWO),
        "TRACE",
        (
            f"Completed LeaderAndIsr request correlationId 8 {BY} for the become-follower transition for "
            "partition orders-3 with leader 2"
        ),
    ),
    (
        LINES.stopped_fetchers_of_leaders(2),
        "INFO",
        (
            f"Stopped fetchers as part of LeaderAndIsr request correlationId 8 {BY} as part of the "
            "become-leader transition for 2 partitions"
        ),
    ),
    (
        LINES.stopped_fetchers_of_followers(0),
        "INFO",
        f"Stopped fetchers as part of become-follower request {BY} with correlation id 8 for 0 partitions",
    ),
    (
        LINES.skipped_fetcher(TP, TWO),
        "TRACE",
        (
            f"Skipped the adding-fetcher step of the become-follower state change with correlation id 8 {BY} "
            "for partition orders-3 with leader 2 since it is shutting down"
        ),
    ),
    (
        LINES.already_leader(TP, LAST),
        "INFO",
        (
            "Skipped the become-leader state change after marking its partition as leader with correlation "
            f"id 8 {BY} for partition orders-3 (last update controller epoch 2) since it is already the "
            "leader for the partition."
        ),
    ),
    (
        LINES.same_leader(TP, LAST, TWO),
        "INFO",
        (
            "Skipped the become-follower state change after marking its partition as follower with "
            f"correlation id 8 {BY} for partition orders-3 (last update controller epoch 2) since the new "
            "leader 2 is the same as the old leader"
        ),
    ),
    (
        LINES.leader_offline(TP, LAST, "x.Y: z"),
        "ERROR",
        (
            f"Skipped the become-leader state change with correlation id 8 {BY} for partition orders-3 (last "
            f"update "
            "controller epoch 2) since the replica for the partition is offline due to disk error x.Y: z"
        ),
    ),
    (
        LINES.follower_offline(TP, LAST, TWO, "x.Y: z"),
        "ERROR",
        (
            f"Skipped the become-follower state change with correlation id 8 {BY} for partition orders-3 "
            "(last update controller epoch 2) with leader 2 since the replica for the partition is offline "
            "due to disk error x.Y: z"
        ),
    ),
    (
        LINES.new_leader_unavailable(TP, LAST, BrokerId(-1)),
        "ERROR",
        (
            f"Received LeaderAndIsrRequest with correlation id 8 {BY} for partition orders-3 (last update "
            "controller epoch 2) but cannot become follower since the new leader -1 is unavailable."
        ),
    ),
    (
        LINES.handling_stop_replica(2),
        "INFO",
        "Handling StopReplica request correlationId 8 from controller 3 for 2 partitions",
    ),
    (
        LINES.received_stop_replica(STOP),
        "TRACE",
        (
            "Received StopReplica request StopReplicaPartitionState(partitionIndex=3, leaderEpoch=4, "
            f"deletePartition=false) correlation id 8 {BY} for partition orders-3"
        ),
    ),
    (
        LINES.stale_stop_replica(ControllerEpoch(6)),
        "WARN",
        f"Ignoring StopReplica request from controller 3 with correlation id 8 {STALE}",
    ),
    (
        LINES.stop_replica_offline_directory(STOP),
        "WARN",
        STOPPING + "orders-3 as the local replica for the partition is in an offline log directory",
    ),
    (
        LINES.stop_replica_directory_failed(TP),
        "ERROR",
        STOPPING.replace("false", "true")
        + "orders-3 as the local replica for the partition is in an offline log directory",
    ),
    (
        LINES.stop_replica_exception(STOP, "x.Y", "z"),
        "ERROR",
        STOPPING + "orders-3 due to an unexpected x.Y exception: z",
    ),
    (
        LINES.stop_replica_stale_epoch(STOP, LeaderEpoch(5)),
        "WARN",
        STOPPING + "orders-3 since its associated leader epoch 4 is smaller than the current leader epoch 5",
    ),
    (
        LINES.stop_replica_same_epoch(STOP),
        "INFO",
        STOPPING + "orders-3 since its associated leader epoch 4 matches the current leader epoch",
    ),
    (
        LINES.stale_update_metadata(ControllerEpoch(6)),
        "WARN",
        (
            "Received update metadata request with correlation id 8 from an old controller 3 with epoch 5. "
            "Latest known controller epoch is 6"
        ),
    ),
    (
        LINES.cached_metadata(UpdateMetadataPartition(TP, STATE, (ONE, TWO))),
        "TRACE",
        (
            "Cached leader info UpdateMetadataPartitionState(topicName='orders', partitionIndex=3, "
            "controllerEpoch=3, leader=2, leaderEpoch=4, isr=[2, 1], zkVersion=7, replicas=[1, 2], "
            f"offlineReplicas=[]) for partition orders-3 {SENT_BY}"
        ),
    ),
    (LINES.deleted_metadata(TP), "TRACE", f"Deleted partition orders-3 from metadata cache {SENT_BY}"),
    (
        LINES.updated_metadata(6, 1),
        "INFO",
        f"Add 6 partitions and deleted 1 partitions from metadata cache {SENT_BY}",
    ),
]


def by_kind(case: object) -> str:
    return case.kind.value if isinstance(case, StateChange) else ""


@pytest.mark.parametrize(("line", "level", "text"), CASES, ids=by_kind)
def test_a_line_of_a_broker(line: StateChange, level: str, text: str) -> None:
    assert (line.level.name, line.message) == (level, f"[Broker id=1] {text}")
    assert read_message(line.message).kind is line.kind
