from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.commands_topics import (
    CreatePartitions,
    CreatePartitionsResult,
    DeleteTopics,
    DeleteTopicsResult,
    NewPartitions,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.rpc.commands import METHODS

METHOD = METHODS[CreateTopics]
ints = st.integers(-2, 2**31 - 1)
id_tuples = st.lists(st.integers(0, 5).map(BrokerId), max_size=4).map(tuple)
names = st.text("abc.-_", min_size=1, max_size=4)
topics = st.builds(
    NewTopic,
    names,
    ints,
    ints,
    st.dictionaries(st.integers(0, 5), id_tuples, max_size=3),
    st.dictionaries(names, names, max_size=2),
)
modest = settings(max_examples=40)


@given(st.lists(topics, max_size=3).map(tuple), st.booleans())
@modest
def test_create_topics(wanted, validate_only):
    command = CreateTopics(wanted, validate_only)
    assert METHOD.decode(METHOD.encode(command, 1234)) == (command, 1234)


@given(
    st.lists(
        st.builds(TopicResult, names, st.sampled_from(ErrorCode), st.none() | st.text(), ints, ints),
        max_size=3,
    ).map(tuple)
)
@modest
def test_results(results):
    result = CreateTopicsResult(results)
    assert METHOD.decode_result(METHOD.encode_result(result)) == result


new_partitions = st.builds(NewPartitions, names, ints, st.none() | st.lists(id_tuples, max_size=3).map(tuple))


@given(st.lists(new_partitions, max_size=3).map(tuple), st.booleans())
@modest
def test_create_partitions(wanted, validate_only):
    method, command = METHODS[CreatePartitions], CreatePartitions(wanted, validate_only)
    assert method.decode(method.encode(command, 1234)) == (command, 1234)


@given(st.lists(names, max_size=3).map(tuple))
@modest
def test_delete_topics(wanted):
    method, command = METHODS[DeleteTopics], DeleteTopics(wanted)
    assert method.decode(method.encode(command, 1234)) == (command, 1234)


def test_results_of_both():
    results = (TopicResult("t", ErrorCode.NONE, None, 4), TopicResult("u", ErrorCode.INVALID_PARTITIONS, "x"))
    for command, result in (
        (CreatePartitions, CreatePartitionsResult(results)),
        (DeleteTopics, DeleteTopicsResult(results)),
    ):
        method = METHODS[command]
        assert method.decode_result(method.encode_result(result)) == result
