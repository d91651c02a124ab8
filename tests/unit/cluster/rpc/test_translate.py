from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    LeaderAndIsrResponse,
    StopReplicaResponse,
    UpdateMetadataResponse,
)
from barnabas.cluster.rpc import control_pb2 as pb
from barnabas.cluster.rpc import translate

longs = st.integers(-1, 2**63 - 1)
broker_ids = st.integers(0, 5).map(BrokerId)
names = st.text("abc.-_", min_size=1, max_size=4)
errors = st.sampled_from(ErrorCode)
tps = st.builds(TopicPartition, names, st.integers(0, 99))
errors_by_tp = st.dictionaries(tps, errors, max_size=3)
endpoints = st.builds(Endpoint, names, names, st.integers(0, 65535), names)
brokers = st.builds(
    Broker, broker_ids, longs.map(BrokerEpoch), st.lists(endpoints, max_size=2).map(tuple), st.none() | names
)


def over_the_wire(message):
    return type(message).FromString(message.SerializeToString())


@given(brokers)
def test_brokers(broker):
    assert translate.broker_from_message(over_the_wire(translate.broker_to_message(broker))) == broker


@given(errors, errors_by_tp)
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
