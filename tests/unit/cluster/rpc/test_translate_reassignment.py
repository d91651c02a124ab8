from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.cluster.model.commands_reassignment import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResult,
    ListPartitionReassignments,
    ListPartitionReassignmentsResult,
    ReassignmentResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.rpc.commands import METHODS

ALTER, LIST = METHODS[AlterPartitionReassignments], METHODS[ListPartitionReassignments]
modest = settings(max_examples=40)
tps = st.builds(TopicPartition, st.text("abc.-_", min_size=1, max_size=4), st.integers(0, 9))
replicas = st.lists(st.integers(-1, 5).map(BrokerId), max_size=4).map(tuple)


@given(st.dictionaries(tps, st.none() | replicas, max_size=4))
@modest
def test_alter(targets):
    command = AlterPartitionReassignments(targets)
    assert ALTER.decode(ALTER.encode(command, 1234)) == (command, 1234)


def test_an_empty_list_is_no_cancellation():
    command = AlterPartitionReassignments({TopicPartition("t", 0): ()})
    assert ALTER.decode(ALTER.encode(command, 1)) == (command, 1)


@given(
    st.dictionaries(
        tps, st.builds(ReassignmentResult, st.sampled_from(ErrorCode), st.none() | st.text()), max_size=4
    )
)
@modest
def test_alter_results(results):
    result = AlterPartitionReassignmentsResult(results)
    assert ALTER.decode_result(ALTER.encode_result(result)) == result


@given(st.none() | st.lists(tps, max_size=4).map(tuple))
@modest
def test_list(partitions):
    command = ListPartitionReassignments(partitions)
    assert LIST.decode(LIST.encode(command, 5)) == (command, 5)


@given(st.dictionaries(tps, st.builds(Assignment, replicas, replicas, replicas), max_size=4))
@modest
def test_list_results(reassignments):
    result = ListPartitionReassignmentsResult(reassignments)
    assert LIST.decode_result(LIST.encode_result(result)) == result
