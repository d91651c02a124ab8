from __future__ import annotations

import asyncio
import datetime as dt

import pytest

from barnabas.broker.server.handlers.create_topics import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import CreateTopics, CreateTopicsResult, NewTopic, TopicResult
from barnabas.cluster.model.errors import ErrorCode

E = ErrorCode


@pytest.fixture
def create(schema, request_of):
    def build(*topics, version=7, timeout_ms=5000, validate_only=False):
        s = schema(19, version)
        body = s.request(
            topics=tuple(
                s.CreatableTopic(
                    name=topic.get("name", "orders"),
                    num_partitions=topic.get("partitions", 1),
                    replication_factor=topic.get("replication_factor", 1),
                    assignments=tuple(
                        s.CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
                        for number, brokers in topic.get("assignments", ())
                    ),
                    configs=tuple(
                        s.CreatableTopicConfig(name=name, value=value)
                        for name, value in topic.get("configs", ())
                    ),
                )
                for topic in topics
            ),
            timeout=dt.timedelta(milliseconds=timeout_ms),
            **({"validate_only": validate_only} if version >= 1 else {}),
        )
        return request_of(19, version, body)

    return build


def errors(answer):
    return {topic.name: topic.error_code for topic in answer.topics}


@pytest.mark.parametrize("version", range(8))
async def test_a_topic_is_created_as_asked(broker, create, version):
    broker.controller.on_submit = lambda command: broker.topic("orders", 1, 2)
    broker.controller.answer = CreateTopicsResult((TopicResult("orders", E.NONE, None, 2, 3),))
    asked = {"partitions": 2, "replication_factor": 3, "configs": [("retention.ms", "5")]}
    answer = await handle(broker.context, create(asked, version=version))
    ((command, timeout_ms),) = broker.controller.commands
    assert command == CreateTopics((NewTopic("orders", 2, 3, {}, {"retention.ms": "5"}),))
    assert timeout_ms == 5000
    assert errors(answer) == {"orders": E.NONE}
    if version >= 5:
        (topic,) = answer.topics
        assert (topic.num_partitions, topic.replication_factor) == (2, 3)
        told = {config.name: (config.value, config.config_source) for config in topic.configs}
        assert told["retention.ms"] == ("5", 1)
        assert told["retention.bytes"] == ("-1", 5)


async def test_an_assignment_by_hand_is_handed_on(broker, create):
    by_hand = {"partitions": -1, "replication_factor": -1, "assignments": [(0, (1, 2)), (1, (2, 1))]}
    await handle(broker.context, create(by_hand, timeout_ms=1))
    (topic,) = broker.controller.commands[0][0].topics
    assert (topic.partitions, topic.assignments) == (-1, {0: (1, 2), 1: (2, 1)})


async def test_the_answer_waits_for_every_leader(broker, create):
    broker.controller.answer = CreateTopicsResult((TopicResult("orders", E.NONE, None, 2, 1),))
    answer = asyncio.ensure_future(handle(broker.context, create({"partitions": 2}, timeout_ms=60_000)))
    for leaders in ((1,), (1, -1)):
        await asyncio.sleep(0)
        broker.topic("orders", *leaders)
        await asyncio.sleep(0)
        assert not answer.done()
    broker.topic("orders", 1, 1)
    assert errors(await answer) == {"orders": E.NONE}


@pytest.mark.parametrize("timeout_ms", [0, -1, 1])
async def test_leaders_not_elected_in_time_are_reported(broker, create, timeout_ms):
    answer = await handle(broker.context, create({}, timeout_ms=timeout_ms))
    assert errors(answer) == {"orders": E.REQUEST_TIMED_OUT}
    assert "orders" in answer.topics[0].error_message


async def test_a_request_without_time_is_not_answered_with_success(broker, create):
    broker.controller.on_submit = lambda command: broker.topic("orders", 1)
    assert errors(await handle(broker.context, create({}, timeout_ms=0))) == {"orders": E.REQUEST_TIMED_OUT}


async def test_validation_alone_does_not_wait(broker, create):
    answer = await handle(broker.context, create({}, validate_only=True))
    assert broker.controller.commands[0][0].validate_only
    assert errors(answer) == {"orders": E.NONE}


async def test_a_broker_that_is_not_the_controller_says_so_for_each_topic(broker, create):
    broker.controller.answer = Refused(E.NOT_CONTROLLER, "broker 2 is")
    answer = await handle(broker.context, create({}, {"name": "payments"}))
    assert errors(answer) == {"orders": E.NOT_CONTROLLER, "payments": E.NOT_CONTROLLER}
    assert answer.topics[0].error_message == "broker 2 is"


async def test_the_controllers_refusal_of_one_topic_does_not_hold_up_the_other(broker, create):
    broker.controller.answer = CreateTopicsResult(
        (
            TopicResult("orders", E.TOPIC_ALREADY_EXISTS, "it is there"),
            TopicResult("payments", E.NONE, None, 1, 1),
        )
    )
    broker.topic("payments", 1)
    answer = await handle(broker.context, create({}, {"name": "payments"}))
    assert errors(answer) == {"orders": E.TOPIC_ALREADY_EXISTS, "payments": E.NONE}


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        ({"configs": [("retention.ms", None)]}, E.INVALID_REQUEST),
        (
            {"partitions": -1, "replication_factor": -1, "assignments": [(0, (1,)), (0, (2,))]},
            E.INVALID_REPLICA_ASSIGNMENT,
        ),
        (
            {
                "partitions": -1,
                "replication_factor": -1,
                "assignments": [(n, (1,)) for n in range(10_001)],
            },
            E.INVALID_PARTITIONS,
        ),
        ({"configs": [(f"s.{n}", "1") for n in range(1_001)]}, E.INVALID_CONFIG),
    ],
)
async def test_a_contradiction_is_refused_without_the_controller_seeing_it(broker, create, topic, error):
    answer = await handle(broker.context, create(topic, {"name": "payments"}, validate_only=True))
    assert errors(answer) == {"orders": error, "payments": E.NONE}
    assert [wanted.name for wanted in broker.controller.commands[0][0].topics] == ["payments"]


async def test_a_topic_named_twice_is_refused_once(broker, create):
    answer = await handle(broker.context, create({}, {}))
    assert errors(answer) == {"orders": E.INVALID_REQUEST}
    assert len(answer.topics) == 1
