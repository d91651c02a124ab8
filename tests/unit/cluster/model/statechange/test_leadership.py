"""One leadership, a dozen spellings."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from cluster.model.requests import LeaderAndIsrPartition, StopReplicaPartition, UpdateMetadataPartition
from cluster.model.statechange.leadership import (
    LEADERSHIP_PATTERN,
    Leadership,
    read_leadership,
    write_leader_and_isr,
    write_leader_and_isr_partition,
    write_partition_state,
    write_stop_replica_partition,
    write_update_metadata_partition,
)

TP = TopicPartition("orders", 3)
KNOWN = LeaderAndIsr(BrokerId(1), LeaderEpoch(4), (BrokerId(1), BrokerId(2)), PartitionVersion(7))
STATE = PartitionState(KNOWN, ControllerEpoch(5))

leaderships = st.builds(
    LeaderAndIsr,
    st.integers(-2, 9).map(BrokerId),
    st.integers(0, 99).map(LeaderEpoch),
    st.lists(st.integers(0, 9).map(BrokerId), max_size=4).map(tuple),
    st.integers(0, 99).map(PartitionVersion),
)


@given(leaderships, st.integers(0, 99))
def test_what_is_written_is_read(known: LeaderAndIsr, controller_epoch: int) -> None:
    state = PartitionState(known, ControllerEpoch(controller_epoch))
    without_epoch = read_leadership(write_leader_and_isr(known))
    assert without_epoch == Leadership(known.leader, known.leader_epoch, known.isr, known.version)
    for text in (
        write_partition_state(state),
        write_leader_and_isr_partition(LeaderAndIsrPartition(TP, state, Assignment(known.isr))),
        write_update_metadata_partition(UpdateMetadataPartition(TP, state, known.isr)),
    ):
        assert re.fullmatch(LEADERSHIP_PATTERN, text)
        read = read_leadership(text)
        assert (read.leader, read.leader_epoch, read.isr, read.version, read.controller_epoch) == (
            known.leader,
            known.leader_epoch,
            known.isr,
            known.version,
            controller_epoch,
        )


def test_release_2_8_spells_them_so() -> None:
    assignment = Assignment((BrokerId(1), BrokerId(2), BrokerId(3)), adding=(BrokerId(3),))
    request = LeaderAndIsrPartition(TP, STATE, assignment, is_new=True)
    assert write_leader_and_isr(KNOWN) == "LeaderAndIsr(leader=1, leaderEpoch=4, isr=List(1, 2), zkVersion=7)"
    assert write_partition_state(STATE) == "(Leader:1,ISR:1,2,LeaderEpoch:4,ZkVersion:7,ControllerEpoch:5)"
    assert write_leader_and_isr_partition(request) == (
        "LeaderAndIsrPartitionState(topicName='orders', partitionIndex=3, controllerEpoch=5, leader=1, "
        "leaderEpoch=4, "
        "isr=[1, 2], zkVersion=7, replicas=[1, 2, 3], addingReplicas=[3], removingReplicas=[], isNew=true)"
    )
    assert write_update_metadata_partition(UpdateMetadataPartition(TP, STATE, KNOWN.isr, (BrokerId(2),))) == (
        "UpdateMetadataPartitionState(topicName='orders', partitionIndex=3, controllerEpoch=5, leader=1, "
        "leaderEpoch=4, isr=[1, 2], zkVersion=7, replicas=[1, 2], offlineReplicas=[2])"
    )
    assert write_stop_replica_partition(StopReplicaPartition(TP, LeaderEpoch(4), delete=True)) == (
        "StopReplicaPartitionState(partitionIndex=3, leaderEpoch=4, deletePartition=true)"
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        # 0.8 and 0.9: the parentheses do not balance.
        (
            (
                "(LeaderAndIsrInfo:(Leader:2,ISR:2,1,LeaderEpoch:8,ControllerEpoch:9),"
                "ReplicationFactor:2),AllReplicas:2,1)"
            ),
            Leadership(2, 8, (2, 1), None, 9, (2, 1)),
        ),
        ("(Leader:-2,ISR:,LeaderEpoch:0,ControllerEpoch:29)", Leadership(-2, 0, (), None, 29)),
        # 0.10.0.0: an object's hash and nothing else.
        ("org.apache.kafka.common.requests.LeaderAndIsrRequest$PartitionState@48db407a", Leadership()),
        (
            (
                "PartitionState(controllerEpoch=2, leader=1, leaderEpoch=1, isr=1,2, zkVersion=1, "
                "replicas=1,2,3, isNew=false)"
            ),
            Leadership(1, 1, (1, 2), 1, 2, (1, 2, 3)),
        ),
        (
            (
                "PartitionState(controllerEpoch=2, leader=0, leaderEpoch=0, isr=[0], zkVersion=0, "
                "replicas=[0], "
                "offlineReplicas=[])"
            ),
            Leadership(0, 0, (0,), 0, 2, (0,)),
        ),
        (
            (
                "LeaderAndIsr(leader=2, leaderEpoch=3, isr=List(2, 1), leaderRecoveryState=RECOVERED, "
                "zkVersion=5)"
            ),
            Leadership(2, 3, (2, 1), 5),
        ),
        (
            (
                "LeaderAndIsr(leader=1, leaderEpoch=3, isrWithBrokerEpoch=List(BrokerState(brokerId=1, "
                "brokerEpoch=-1), "
                "BrokerState(brokerId=0, brokerEpoch=-1)), leaderRecoveryState=RECOVERED, partitionEpoch=4)"
            ),
            Leadership(1, 3, (1, 0), 4),
        ),
        (
            "(Leader:-1,ISR:0,LeaderRecoveryState:RECOVERED,LeaderEpoch:1,ZkVersion:1,ControllerEpoch:15)",
            Leadership(-1, 1, (0,), 1, 15),
        ),
        ('{"leader":2,"leader_epoch":34,"isr":[2,3]}', Leadership(2, 34, (2, 3))),
        (
            "StopReplicaPartitionState(partitionIndex=0, leaderEpoch=3, deletePartition=false)",
            Leadership(leader_epoch=3, delete=False),
        ),
    ],
)
def test_older_and_newer_spellings_are_read(text: str, expected: Leadership) -> None:
    assert re.fullmatch(LEADERSHIP_PATTERN, text)
    assert read_leadership(text) == expected
