from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
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
