from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from barnabas.broker.server.handlers.create_partitions import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import (
    CreatePartitions,
    CreatePartitionsResult,
    NewPartitions,
    TopicResult,
)
from barnabas.cluster.model.errors import ErrorCode

E = ErrorCode


@pytest.fixture
def extend(schema, request_of):
    def build(*topics, version=3, timeout_ms=5000, validate_only=False):
        s = schema(37, version)
        body = s.request(
            topics=tuple(
                s.CreatePartitionsTopic(
                    name=name,
                    count=count,
                    assignments=None
                    if by_hand is None
                    else tuple(s.CreatePartitionsAssignment(broker_ids=ids) for ids in by_hand),
                )
                for name, count, by_hand in topics
            ),
            timeout=dt.timedelta(milliseconds=timeout_ms),
            validate_only=validate_only,
        )
        return request_of(37, version, body)

    return build


def written(name, partitions):
    return CreatePartitionsResult((TopicResult(name, E.NONE, None, partitions),))


def errors(answer):
    return {result.name: result.error_code for result in answer.results}


@pytest.mark.parametrize("version", range(4))
async def test_partitions_are_asked_of_the_controller(broker, extend, version):
    broker.topic("orders", 1, 1)
    broker.controller.answer = written("orders", 2)
    answer = await handle(broker.context, extend(("orders", 2, [(1, 2)]), version=version))
    asked = CreatePartitions((NewPartitions("orders", 2, ((1, 2),)),))
    assert broker.controller.commands == [(asked, 5000)]
    assert errors(answer) == {"orders": E.NONE}


async def test_no_assignment_leaves_the_placement_to_the_controller(broker, extend):
    broker.topic("orders", 1, 1)
    broker.controller.answer = written("orders", 2)
    await handle(broker.context, extend(("orders", 2, None)))
    ((command, _),) = broker.controller.commands
    assert command.topics[0].assignments is None


async def test_the_answer_waits_for_the_leaders_of_the_new_partitions(broker, extend):
    broker.topic("orders", 1)
    broker.controller.answer = written("orders", 2)
    answer = asyncio.ensure_future(handle(broker.context, extend(("orders", 2, None), timeout_ms=60_000)))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not answer.done()
    broker.topic("orders", 1, 2)
    assert errors(await answer) == {"orders": E.NONE}


async def test_leaders_that_do_not_come_are_late(broker, extend):
    broker.controller.answer = written("orders", 2)
    answer = await handle(broker.context, extend(("orders", 2, None), timeout_ms=1))
    assert errors(answer) == {"orders": E.REQUEST_TIMED_OUT}


async def test_validation_waits_for_nothing(broker, extend):
    broker.controller.answer = written("orders", 2)
    answer = await handle(broker.context, extend(("orders", 2, None), validate_only=True))
    ((command, _),) = broker.controller.commands
    assert command.validate_only
    assert errors(answer) == {"orders": E.NONE}


async def test_on_another_broker_every_topic_is_refused(broker, extend):
    broker.controller.answer = Refused(E.NOT_CONTROLLER, "it is broker 2")
    assert errors(await handle(broker.context, extend(("orders", 2, None)))) == {"orders": E.NOT_CONTROLLER}
