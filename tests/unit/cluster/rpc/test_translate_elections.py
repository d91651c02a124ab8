from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc.commands import METHODS

METHOD = METHODS[ElectLeaders]
modest = settings(max_examples=40)
tps = st.builds(TopicPartition, st.text("abc.-_", min_size=1, max_size=4), st.integers(0, 9))
results = st.builds(
    ElectionResult,
    st.sampled_from(ErrorCode),
    st.none() | st.text(max_size=5),
    st.integers(-1, 5).map(BrokerId),
)


@given(
    st.sampled_from(ElectionType),
    st.lists(tps, max_size=4),
    st.integers(-1, 5).map(BrokerId),
    st.integers(0, 2**31 - 1),
)
@modest
def test_the_command(kind, partitions, damaged, timeout_ms):
    command = ElectLeaders(kind, tuple(partitions), damaged)
    assert METHOD.decode(METHOD.encode(command, timeout_ms)) == (command, timeout_ms)


@given(st.dictionaries(tps, results, max_size=4))
@modest
def test_the_result_in_its_order(elections):
    answer = METHOD.decode_result(METHOD.encode_result(ElectLeadersResult(elections)))
    assert answer == ElectLeadersResult(elections)
    assert list(answer.elections) == list(elections)
