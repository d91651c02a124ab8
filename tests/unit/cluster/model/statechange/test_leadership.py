"""A leadership is spelled as 2.8 spells it, and read back."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    StopReplicaPartition,
    UpdateMetadataPartition,
)
from barnabas.cluster.model.statechange.leadership import (
    LEADERSHIP_PATTERN,
    Leadership,
    ids_in,
    int_in,
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


def test_a_field_that_is_not_there_is_no_value() -> None:
    number, ids = re.compile(r"epoch=(-?\d+)"), re.compile(r"isr=\[([\d, ]*)")
    text = "epoch=-1 isr=[3, 1,2]"
    assert (int_in(number, text), ids_in(ids, text), ids_in(ids, "isr=[]")) == (-1, (3, 1, 2), ())
    assert (int_in(number, "isr"), ids_in(ids, "epoch")) == (None, None)
