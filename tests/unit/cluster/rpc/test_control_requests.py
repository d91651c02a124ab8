"""Requests through the encoder, as a broker reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import control_requests, translate
from barnabas.cluster.rpc.control_requests import CALLS, Encoder

ints = st.integers(-2, 2**31 - 1)
longs = st.integers(-1, 2**63 - 1)
broker_ids = st.integers(0, 5).map(BrokerId)
id_tuples = st.lists(broker_ids, max_size=4).map(tuple)
names = st.text("abc.-_", min_size=1, max_size=4)
tps = st.builds(TopicPartition, names, st.integers(0, 99))
endpoints = st.builds(Endpoint, names, names, st.integers(0, 65535), names)
brokers = st.builds(
    Broker, broker_ids, longs.map(BrokerEpoch), st.lists(endpoints, max_size=2).map(tuple), st.none() | names
)
leaderships = st.builds(
    LeaderAndIsr, ints.map(BrokerId), ints.map(LeaderEpoch), id_tuples, ints.map(PartitionVersion)
)
states = st.builds(PartitionState, leaderships, ints.map(ControllerEpoch))
identities = st.none() | st.builds(TopicIdentity, longs, longs)
heads = {
    "controller_id": broker_ids,
    "controller_epoch": ints.map(ControllerEpoch),
    "broker_epoch": longs.map(BrokerEpoch),
}
by_tp = {"unique_by": lambda partition: partition.topic_partition, "max_size": 4}


def grouped(partitions):
    """In the order in which the messages keep them: topics by their first partition."""

    def topic_of(partition):
        return partition.topic_partition.topic, getattr(partition, "topic_identity", None)

    order = list(dict.fromkeys(map(topic_of, partitions)))
    return tuple(sorted(partitions, key=lambda partition: order.index(topic_of(partition))))


leader_and_isr = st.builds(
    LeaderAndIsrRequest,
    **heads,
    partitions=st.lists(
        st.builds(
            LeaderAndIsrPartition,
            tps,
            states,
            st.builds(Assignment, id_tuples, id_tuples, id_tuples),
            st.booleans(),
            topic_identity=identities,
        ),
        **by_tp,
    ).map(grouped),
    live_leaders=st.lists(brokers, max_size=2).map(tuple),
)
update_metadata = st.builds(
    UpdateMetadataRequest,
    **heads,
    partitions=st.lists(st.builds(UpdateMetadataPartition, tps, states, id_tuples, id_tuples), **by_tp).map(
        grouped
    ),
    live_brokers=st.lists(brokers, max_size=2).map(tuple),
    is_complete=st.booleans(),
)
stop_replica = st.builds(
    StopReplicaRequest,
    **heads,
    partitions=st.lists(
        st.builds(StopReplicaPartition, tps, ints.map(LeaderEpoch), st.booleans()), **by_tp
    ).map(tuple),
)

READ = {
    LeaderAndIsrRequest: lambda data: translate.leader_and_isr_request_from_message(
        pb.LeaderAndIsrRequest.FromString(data)
    ),
    UpdateMetadataRequest: lambda data: translate.update_metadata_request_from_message(
        pb.UpdateMetadataRequest.FromString(data)
    ),
    StopReplicaRequest: lambda data: translate.stop_replica_request_from_message(
        pb.StopReplicaRequest.FromString(data)
    ),
}


@given(leader_and_isr | update_metadata | stop_replica)
def test_a_broker_reads_the_request_that_was_encoded(request):
    assert READ[type(request)](Encoder().encode(request)) == request


@given(st.lists(leader_and_isr | update_metadata, min_size=1, max_size=4), st.data())
def test_requests_that_share_partitions_are_those_they_are_alone(requests, data):
    """Each kind's partitions are dealt out anew, so that brokers are told alike and otherwise."""
    encoder = Encoder()
    for request in requests:
        alike = [p for other in requests if type(other) is type(request) for p in other.partitions]
        dealt = data.draw(st.lists(st.sampled_from(alike), unique_by=id) if alike else st.just([]))
        one = replace(request, partitions=grouped(dealt))
        assert encoder.encode(one) == Encoder().encode(one)


def test_what_is_forgotten_is_encoded_again(monkeypatch):
    monkeypatch.setattr(control_requests, "REMEMBERED_LISTS", 1)
    encoder = Encoder()
    state = PartitionState(LeaderAndIsr(BrokerId(1), LeaderEpoch(0), (BrokerId(1),)), ControllerEpoch(1))
    partitions = tuple(
        UpdateMetadataPartition(TopicPartition("t", number), state, (BrokerId(1),)) for number in range(5)
    )
    request = UpdateMetadataRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(1), partitions, ())
    other = replace(request, partitions=partitions[1:])
    for one in (request, request, other, request):
        assert READ[UpdateMetadataRequest](encoder.encode(one)) == one


@pytest.mark.parametrize(
    ("kind", "answer", "data"),
    [
        (
            LeaderAndIsrRequest,
            LeaderAndIsrResponse(ErrorCode.NONE, {TopicPartition("t", 0): ErrorCode.KAFKA_STORAGE_ERROR}),
            translate.leader_and_isr_response_to_message,
        ),
        (
            UpdateMetadataRequest,
            UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH),
            translate.update_metadata_response_to_message,
        ),
        (
            StopReplicaRequest,
            StopReplicaResponse(ErrorCode.NONE, {TopicPartition("t", 0): ErrorCode.FENCED_LEADER_EPOCH}),
            translate.stop_replica_response_to_message,
        ),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)
def test_each_call_reads_its_answer(kind, answer, data):
    assert CALLS[kind].response(data(answer).SerializeToString()) == answer
    assert (
        CALLS[kind].path == f"/{pb.DESCRIPTOR.package}.BrokerControl/{kind.__name__.removesuffix('Request')}"
    )
