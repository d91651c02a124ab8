from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.server.handlers.list_partition_reassignments import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.reassignments import (
    ListPartitionReassignments,
    ListPartitionReassignmentsResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment

A0, B0, B3 = TopicPartition("a", 0), TopicPartition("b", 0), TopicPartition("b", 3)


@pytest.fixture
def ask(schema, request_of):
    def build(named=None):
        s = schema(46, 0)
        topics = named and tuple(
            s.ListPartitionReassignmentsTopics(name=topic, partition_indexes=numbers)
            for topic, numbers in named
        )
        return request_of(46, 0, s.request(timeout=dt.timedelta(milliseconds=700), topics=topics))

    return build


async def test_running_reassignments_are_returned_by_topic(broker, ask):
    broker.controller.answer = ListPartitionReassignmentsResult(
        {B3: Assignment((4, 1), (4,), (1,)), A0: Assignment((2, 3), (2,)), B0: Assignment((1, 2), (), (2,))}
    )
    answer = await handle(broker.context, ask())
    assert broker.controller.commands == [(ListPartitionReassignments(None), 700)]
    assert answer.error_code is ErrorCode.NONE
    told = {
        (topic.name, p.partition_index): (p.replicas, p.adding_replicas, p.removing_replicas)
        for topic in answer.topics
        for p in topic.partitions
    }
    assert told == {
        ("a", 0): ((2, 3), (2,), ()),
        ("b", 0): ((1, 2), (), (2,)),
        ("b", 3): ((4, 1), (4,), (1,)),
    }
    assert [topic.name for topic in answer.topics] == ["b", "a"]


async def test_only_the_partitions_named_are_asked_for(broker, ask):
    broker.controller.answer = ListPartitionReassignmentsResult({})
    answer = await handle(broker.context, ask([("b", (0, 3)), ("a", ())]))
    assert broker.controller.commands[0][0] == ListPartitionReassignments((B0, B3))
    assert answer.topics == ()


async def test_a_broker_that_is_not_the_controller_says_so(broker, ask):
    broker.controller.answer = Refused(ErrorCode.NOT_CONTROLLER, "not here")
    answer = await handle(broker.context, ask())
    assert (answer.error_code, answer.error_message, answer.topics) == (
        ErrorCode.NOT_CONTROLLER,
        "not here",
        (),
    )
