from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.server.handlers.alter_partition_reassignments import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    AlterPartitionReassignmentsResult,
    ReassignmentResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)


@pytest.fixture
def move(schema, request_of):
    def build(*moves):
        s = schema(45, 0)
        topics = tuple(
            s.ReassignableTopic(
                name=topic,
                partitions=tuple(
                    s.ReassignablePartition(partition_index=number, replicas=replicas)
                    for number, replicas in partitions
                ),
            )
            for topic, partitions in moves
        )
        return request_of(45, 0, s.request(timeout=dt.timedelta(milliseconds=700), topics=topics))

    return build


def results(answer):
    return {
        TopicPartition(topic.name, partition.partition_index): (partition.error_code, partition.error_message)
        for topic in answer.responses
        for partition in topic.partitions
    }


async def test_moves_and_cancellations_are_handed_to_the_controller(broker, move):
    refused = ReassignmentResult(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "none runs")
    broker.controller.answer = AlterPartitionReassignmentsResult(
        {B0: ReassignmentResult(ErrorCode.NONE), A1: refused, A0: ReassignmentResult(ErrorCode.NONE)}
    )
    answer = await handle(broker.context, move(("b", [(0, (1, 2))]), ("a", [(1, None), (0, ())])))
    assert broker.controller.commands == [(AlterPartitionReassignments({B0: (1, 2), A1: None, A0: ()}), 700)]
    assert (answer.error_code, answer.error_message) == (ErrorCode.NONE, None)
    assert results(answer) == {
        A0: (ErrorCode.NONE, None),
        A1: (ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "none runs"),
        B0: (ErrorCode.NONE, None),
    }
    assert [topic.name for topic in answer.responses] == ["b", "a"]


async def test_a_broker_that_is_not_the_controller_says_so_for_the_whole_request(broker, move):
    broker.controller.answer = Refused(ErrorCode.NOT_CONTROLLER, "not here")
    answer = await handle(broker.context, move(("a", [(0, (1,))])))
    assert (answer.error_code, answer.error_message) == (ErrorCode.NOT_CONTROLLER, "not here")
    assert answer.responses == ()


async def test_a_partition_named_twice_is_not_moved(broker, move):
    broker.controller.answer = AlterPartitionReassignmentsResult({A1: ReassignmentResult(ErrorCode.NONE)})
    answer = await handle(broker.context, move(("a", [(0, (1,)), (1, (1,))]), ("a", [(0, (2,))])))
    assert broker.controller.commands[0][0].targets == {A1: (1,)}
    assert results(answer)[A0] == (
        ErrorCode.INVALID_REQUEST,
        "The partition a-0 is named more than once; expected once",
    )
    assert results(answer)[A1] == (ErrorCode.NONE, None)
