"""Each command to the controller, and its result, as messages and back."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.configs import (
    AlterConfigs,
    AlterConfigsResult,
    ConfigAlteration,
    ConfigOperation,
    ConfigResource,
    ConfigResourceType,
    IncrementalAlterConfigs,
    ResourceResult,
)
from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown, ControlledShutdownResult
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc import control_pb2
from barnabas.cluster.rpc.commands import METHODS, SERVICE

names = st.text("abc.-_", max_size=4)
ints = st.integers(-2, 2**31 - 1)
brokers = st.integers(-1, 2**31 - 1).map(BrokerId)
partitions = st.builds(TopicPartition, st.text("abc.-_", min_size=1, max_size=4), st.integers(0, 9))
errors = st.sampled_from(ErrorCode)
messages = st.none() | st.text(max_size=5)
resources = st.builds(ConfigResource, st.sampled_from(ConfigResourceType), names)


def tuples(of: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(of, max_size=4).map(tuple)


new_topics = st.builds(
    NewTopic,
    names,
    ints,
    ints,
    st.dictionaries(st.integers(0, 5), tuples(brokers), max_size=3),
    st.dictionaries(names, names, max_size=2),
)
alterations = st.builds(ConfigAlteration, names, st.sampled_from(ConfigOperation), names)
altered = st.builds(AlterConfigsResult, tuples(st.builds(ResourceResult, resources, errors, messages)))

COMMANDS: dict[type, st.SearchStrategy[Any]] = {
    ControlledShutdown: st.builds(ControlledShutdown, brokers, st.integers(-1, 2**63 - 1).map(BrokerEpoch)),
    CreateTopics: st.builds(CreateTopics, tuples(new_topics), st.booleans()),
    ElectLeaders: st.builds(ElectLeaders, st.sampled_from(ElectionType), tuples(partitions), brokers),
    AlterConfigs: st.builds(
        AlterConfigs,
        st.dictionaries(resources, st.dictionaries(names, st.text(max_size=5), max_size=3), max_size=3),
        st.booleans(),
    ),
    IncrementalAlterConfigs: st.builds(
        IncrementalAlterConfigs,
        st.dictionaries(resources, tuples(alterations), max_size=3),
        st.booleans(),
    ),
}
RESULTS: dict[type, st.SearchStrategy[Any]] = {
    ControlledShutdown: st.builds(ControlledShutdownResult, tuples(partitions)),
    CreateTopics: st.builds(
        CreateTopicsResult, tuples(st.builds(TopicResult, names, errors, messages, ints, ints))
    ),
    ElectLeaders: st.builds(
        ElectLeadersResult,
        st.dictionaries(partitions, st.builds(ElectionResult, errors, messages, brokers), max_size=4),
    ),
    AlterConfigs: altered,
    IncrementalAlterConfigs: altered,
}


def test_the_table_is_the_service_of_the_proto_file():
    service = control_pb2.DESCRIPTOR.services_by_name["Controller"]
    assert service.full_name == SERVICE
    described = {m.name: (m.input_type.name, m.output_type.name) for m in service.methods}
    listed = {m.name: (type(m.request()).__name__, type(m.response()).__name__) for m in METHODS.values()}
    assert listed == described


@pytest.mark.parametrize("method", METHODS.values(), ids=lambda method: method.name)
def test_a_refusal_of_the_whole_command(method):
    refused = Refused(ErrorCode.NOT_CONTROLLER, "not here")
    assert method.decode_result(method.encode_result(refused)) == refused


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
@given(data=st.data(), timeout_ms=st.integers(0, 2**31 - 1))
def test_a_command_arrives_as_it_was_sent(kind, data, timeout_ms):
    command = data.draw(COMMANDS[kind])
    assert METHODS[kind].decode(METHODS[kind].encode(command, timeout_ms)) == (command, timeout_ms)


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
@given(data=st.data())
def test_a_result_arrives_as_it_was_sent(kind, data):
    result = data.draw(RESULTS[kind])
    assert METHODS[kind].decode_result(METHODS[kind].encode_result(result)) == result


@given(RESULTS[ElectLeaders])
def test_elections_keep_their_order(result):
    method = METHODS[ElectLeaders]
    arrived = method.decode_result(method.encode_result(result))
    assert list(arrived.elections) == list(result.elections)
