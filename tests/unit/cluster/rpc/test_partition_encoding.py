"""Partitions put together by hand, against the messages that protobuf encodes."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition, UpdateMetadataPartition
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import partition_encoding
from barnabas.cluster.rpc.partition_encoding import (
    Heads,
    Int32Field,
    PackedInt32Field,
    head,
    leader_and_isr_field,
    tag,
    update_metadata_field,
)

int32s = st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 3)
id_tuples = st.lists(int32s.map(BrokerId), max_size=40).map(tuple)
tps = st.builds(TopicPartition, st.just("t"), int32s)
states = st.builds(
    PartitionState,
    st.builds(
        LeaderAndIsr,
        int32s.map(BrokerId),
        int32s.map(LeaderEpoch),
        id_tuples,
        int32s.map(PartitionVersion),
    ),
    int32s.map(ControllerEpoch),
)
numbers_of_32_bits = st.integers(-(2**31), 2**31 - 1) | st.integers(-2, 300)
too_large = st.integers(max_value=-(2**31) - 1) | st.integers(min_value=2**31)


def state_message(state):
    known = state.leader_and_isr
    return pb.LeadershipState(
        controller_epoch=state.controller_epoch,
        leader=known.leader,
        leader_epoch=known.leader_epoch,
        isr=known.isr,
        zk_version=known.version,
    )


@given(
    st.builds(
        LeaderAndIsrPartition,
        tps,
        states,
        st.builds(Assignment, id_tuples, id_tuples, id_tuples),
        st.booleans(),
        st.booleans(),
    )
)
def test_leader_and_isr_is_what_protobuf_writes(partition):
    message = pb.LeaderAndIsrPartition(
        partition=partition.topic_partition.partition,
        state=state_message(partition.state),
        replicas=partition.assignment.replicas,
        adding_replicas=partition.assignment.adding,
        removing_replicas=partition.assignment.removing,
        is_new=partition.is_new,
        is_unconfirmed=partition.is_unconfirmed,
    )
    topic = pb.LeaderAndIsrTopic(partitions=[message])
    assert leader_and_isr_field(partition) == topic.SerializeToString()


@given(st.builds(UpdateMetadataPartition, tps, states, id_tuples, id_tuples))
def test_update_metadata_is_what_protobuf_writes(partition):
    message = pb.UpdateMetadataPartition(
        partition=partition.topic_partition.partition,
        state=state_message(partition.state),
        replicas=partition.replicas,
        offline_replicas=partition.offline_replicas,
    )
    topic = pb.UpdateMetadataTopic(partitions=[message])
    assert update_metadata_field(partition) == topic.SerializeToString()


@pytest.mark.parametrize(
    "fields", [{"leader": 2**31}, {"leader_epoch": -(2**31) - 1}, {"isr": (1, 2**40)}, {"version": 2**31}]
)
def test_a_state_that_does_not_fit_is_refused(fields):
    fitting = LeaderAndIsr(BrokerId(1), LeaderEpoch(0), (BrokerId(1),))
    state = PartitionState(replace(fitting, **fields), ControllerEpoch(1))
    tp = TopicPartition("t", 0)
    with pytest.raises(ValueError, match="expected a number of 32 bits"):
        leader_and_isr_field(LeaderAndIsrPartition(tp, state, Assignment((BrokerId(1),))))
    with pytest.raises(ValueError, match="expected a number of 32 bits"):
        update_metadata_field(UpdateMetadataPartition(tp, state, (BrokerId(1),)))


@given(st.text(max_size=400))
def test_a_field_put_together_by_hand_is_the_field_that_protobuf_writes(listener):
    content = listener.encode()
    field = head(tag(pb.Endpoint.LISTENER_FIELD_NUMBER), len(content)) + content
    assert pb.Endpoint.FromString(field) == pb.Endpoint(listener=listener)


@given(st.integers(0, 100_000))
def test_the_head_by_size_is_the_head(size):
    heads = Heads(7)
    assert [heads[size], heads[size]] == [head(tag(7), size)] * 2


@given(numbers_of_32_bits)
def test_a_number_is_encoded_as_protobuf_encodes_it(number):
    ports = Int32Field(pb.Endpoint.PORT_FIELD_NUMBER)
    assert [ports[number], ports[number]] == [pb.Endpoint(port=number).SerializeToString()] * 2


@given(st.lists(numbers_of_32_bits, max_size=30).map(tuple))
def test_numbers_are_encoded_as_protobuf_encodes_them(numbers):
    replicas = PackedInt32Field(pb.Replicas.BROKER_IDS_FIELD_NUMBER)
    whole = pb.Replicas(broker_ids=numbers).SerializeToString()
    assert [replicas[numbers], replicas[numbers]] == [whole] * 2


@given(too_large)
def test_a_number_that_its_field_cannot_hold_is_refused_each_time(number):
    ports, replicas = Int32Field(1), PackedInt32Field(1)
    for _ in range(2):
        with pytest.raises(ValueError, match="expected a number of 32 bits"):
            ports[number]
        with pytest.raises(ValueError, match="expected a number of 32 bits"):
            replicas[1, number]


def test_what_is_too_many_to_remember_is_encoded_all_the_same(monkeypatch):
    monkeypatch.setattr(partition_encoding, "REMEMBERED", 2)
    ports, replicas, heads = Int32Field(1), PackedInt32Field(1), Heads(1)
    for number in range(1, 6):
        assert ports[number] == bytes([tag(1, partition_encoding.VARINT), number])
        assert replicas[number,] == bytes([tag(1), 1, number])
        assert heads[number] == head(tag(1), number)
    assert len(ports) == len(replicas) == len(heads) == 2
