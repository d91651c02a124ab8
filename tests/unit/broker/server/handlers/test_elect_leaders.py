from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from barnabas.broker.server.handlers.elect_leaders import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.elections import (
    ElectionResult,
    ElectionType,
    ElectLeaders,
    ElectLeadersResult,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition

E = ErrorCode
A0, A1, B0 = TopicPartition("a", 0), TopicPartition("a", 1), TopicPartition("b", 0)
ASKED = (("a", (0, 1)), ("b", (0,)))


@pytest.fixture
def elect(schema, request_of):
    def build(asked=ASKED, *, version=2, kind=0, timeout_ms=5000):
        s = schema(43, version)
        partitions = (
            None
            if asked is None
            else tuple(s.TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in asked)
        )
        fields = {"election_type": kind} if version else {}
        timeout = dt.timedelta(milliseconds=timeout_ms)
        return request_of(43, version, s.request(topic_partitions=partitions, timeout=timeout, **fields))

    return build


def results(answer):
    return {
        TopicPartition(topic.topic, each.partition_id): (each.error_code, each.error_message)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    }


def elections_result(**elections):
    """What the controller says, from keywords such as ``a_0=1``: a leader, or an error."""
    return ElectLeadersResult(
        {
            TopicPartition(name[0], int(name[2:])): ElectionResult(what)
            if isinstance(what, ErrorCode)
            else ElectionResult(E.NONE, leader=BrokerId(what))
            for name, what in elections.items()
        }
    )


@pytest.mark.parametrize(("version", "kind"), [(0, 0), (1, 0), (1, 1), (2, 0), (2, 1)])
async def test_each_partition_has_its_answer(broker, elect, version, kind):
    broker.topic("a", 1, 2)
    broker.controller.answer = elections_result(
        a_0=1, a_1=E.ELECTION_NOT_NEEDED, b_0=E.UNKNOWN_TOPIC_OR_PARTITION
    )
    answer = await handle(broker.context, elect(version=version, kind=kind))
    ((command, timeout_ms),) = broker.controller.commands
    assert command == ElectLeaders(ElectionType(kind), (A0, A1, B0))
    assert timeout_ms == 5000
    assert results(answer) == {
        A0: (E.NONE, None),
        A1: (E.ELECTION_NOT_NEEDED, None),
        B0: (E.UNKNOWN_TOPIC_OR_PARTITION, None),
    }
    if version:
        assert answer.error_code == E.NONE


async def test_where_all_are_asked_for_those_that_were_right_are_left_out(broker, elect):
    broker.topic("b", 1)
    broker.topic("a", 1, 2)
    broker.controller.answer = elections_result(
        a_0=1, a_1=E.ELECTION_NOT_NEEDED, b_0=E.PREFERRED_LEADER_NOT_AVAILABLE
    )
    answer = await handle(broker.context, elect(None))
    assert broker.controller.commands[0][0].partitions == (A0, A1, B0)
    assert results(answer) == {A0: (E.NONE, None), B0: (E.PREFERRED_LEADER_NOT_AVAILABLE, None)}


async def test_a_partition_named_twice_is_elected_once(broker, elect):
    broker.topic("a", 1)
    broker.controller.answer = elections_result(a_0=1)
    answer = await handle(broker.context, elect((("a", (0, 0)), ("a", (0,)))))
    assert broker.controller.commands[0][0].partitions == (A0,)
    assert results(answer) == {A0: (E.NONE, None)}


async def test_the_answer_waits_until_the_new_leader_is_known_here(broker, elect):
    broker.topic("a", 2, 1)
    broker.controller.answer = elections_result(a_0=1)
    answer = asyncio.ensure_future(handle(broker.context, elect((("a", (0,)),), timeout_ms=60_000)))
    for leaders in ((2, 1), (-1, 1)):
        await asyncio.sleep(0)
        broker.topic("a", *leaders)
        await asyncio.sleep(0)
        assert not answer.done()
    broker.topic("a", 1, 1)
    assert results(await answer) == {A0: (E.NONE, None)}


async def test_a_leader_unknown_in_time_is_late(broker, elect):
    broker.topic("a", 2, 1)
    broker.controller.answer = elections_result(a_0=1, a_1=1, b_0=3)
    answer = await handle(broker.context, elect(timeout_ms=1))
    late = (E.REQUEST_TIMED_OUT, None)
    assert results(answer) == {A0: late, A1: (E.NONE, None), B0: late}


@pytest.mark.parametrize("error", [E.NOT_CONTROLLER, E.REQUEST_TIMED_OUT])
async def test_a_refusal_of_the_whole_is_one_of_each(broker, elect, error):
    broker.controller.answer = Refused(error, "no")
    answer = await handle(broker.context, elect())
    assert results(answer) == dict.fromkeys((A0, A1, B0), (error, "no"))


async def test_an_unknown_type_is_refused(broker, elect):
    answer = await handle(broker.context, elect((("a", (0,)),), kind=7))
    error, message = results(answer)[A0]
    assert error == E.INVALID_REQUEST
    assert "election type 7" in message
    assert broker.controller.commands == []
