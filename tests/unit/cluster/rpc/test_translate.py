from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from cluster.model.brokers import Broker, Endpoint
from cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch, PartitionVersion
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from cluster.model.requests import (
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
from cluster.rpc import control_pb2 as pb
from cluster.rpc import translate

ints = st.integers(-2, 2**31 - 1)
longs = st.integers(-1, 2**63 - 1)
broker_ids = st.integers(0, 5).map(BrokerId)
id_tuples = st.lists(broker_ids, max_size=4).map(tuple)
names = st.text("abc.-_", min_size=1, max_size=4)
errors = st.sampled_from(ErrorCode)
tps = st.builds(TopicPartition, names, st.integers(0, 99))
errors_by_tp = st.dictionaries(tps, errors, max_size=3)
endpoints = st.builds(Endpoint, names, names, st.integers(0, 65535), names)
brokers = st.builds(
    Broker, broker_ids, longs.map(BrokerEpoch), st.lists(endpoints, max_size=2).map(tuple), st.none() | names
)
leaderships = st.builds(
    LeaderAndIsr, ints.map(BrokerId), ints.map(LeaderEpoch), id_tuples, ints.map(PartitionVersion)
)
states = st.builds(PartitionState, leaderships, ints.map(ControllerEpoch))
heads = {
    "controller_id": broker_ids,
    "controller_epoch": ints.map(ControllerEpoch),
    "broker_epoch": longs.map(BrokerEpoch),
}
by_tp = {"unique_by": lambda partition: partition.topic_partition, "max_size": 4}


def grouped(partitions):
    """In the order in which the messages keep them: topics by their first partition."""
    order = list(dict.fromkeys(partition.topic_partition.topic for partition in partitions))
    return tuple(sorted(partitions, key=lambda partition: order.index(partition.topic_partition.topic)))


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
)
stop_replica = st.builds(
    StopReplicaRequest,
    **heads,
    partitions=st.lists(
        st.builds(StopReplicaPartition, tps, ints.map(LeaderEpoch), st.booleans()), **by_tp
    ).map(tuple),
)
modest = settings(max_examples=40)


def over_the_wire(message):
    return type(message).FromString(message.SerializeToString())


@given(brokers)
@modest
def test_brokers(broker):
    assert translate.broker_from_message(over_the_wire(translate.broker_to_message(broker))) == broker


@given(leader_and_isr)
@modest
def test_leader_and_isr(request):
    message = over_the_wire(translate.leader_and_isr_request_to_message(request))
    assert translate.leader_and_isr_request_from_message(message) == request


@given(update_metadata)
@modest
def test_update_metadata(request):
    message = over_the_wire(translate.update_metadata_request_to_message(request))
    assert translate.update_metadata_request_from_message(message) == request


@given(stop_replica)
@modest
def test_stop_replica(request):
    message = over_the_wire(translate.stop_replica_request_to_message(request))
    assert translate.stop_replica_request_from_message(message) == request


@given(errors, errors_by_tp)
@modest
def test_responses(error, partitions):
    said = LeaderAndIsrResponse(error, partitions)
    message = over_the_wire(translate.leader_and_isr_response_to_message(said))
    assert translate.leader_and_isr_response_from_message(message) == said
    stopped = StopReplicaResponse(error, partitions)
    answer = over_the_wire(translate.stop_replica_response_to_message(stopped))
    assert translate.stop_replica_response_from_message(answer) == stopped
    updated = UpdateMetadataResponse(error)
    note = over_the_wire(translate.update_metadata_response_to_message(updated))
    assert translate.update_metadata_response_from_message(note) == updated


def test_an_error_of_a_later_release_is_not_lost():
    response = translate.update_metadata_response_from_message(pb.UpdateMetadataResponse(error_code=9999))
    assert response.error is ErrorCode.UNKNOWN_SERVER_ERROR
