from __future__ import annotations

import asyncio
import datetime as dt
import uuid

import pytest

from barnabas.broker.server.handlers.delete_topics import handle
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.topics import DeleteTopics, DeleteTopicsResult, TopicResult
from barnabas.cluster.model.errors import ErrorCode

E = ErrorCode


@pytest.fixture
def delete(schema, request_of):
    def build(*names, version=6, timeout_ms=5000, ids=()):
        s = schema(20, version)
        timeout = dt.timedelta(milliseconds=timeout_ms)
        if version < 6:
            return request_of(20, version, s.request(topic_names=names, timeout=timeout))
        states = [s.DeleteTopicState(name=name, topic_id=None) for name in names]
        states += [s.DeleteTopicState(name=name, topic_id=id_) for name, id_ in ids]
        return request_of(20, version, s.request(topics=tuple(states), timeout=timeout))

    return build


def marked(*names):
    return DeleteTopicsResult(tuple(TopicResult(name, E.NONE) for name in names))


def errors(answer):
    return {result.name: result.error_code for result in answer.responses}


@pytest.mark.parametrize("version", range(7))
async def test_topics_are_handed_to_the_controller(broker, delete, version):
    broker.controller.answer = marked("orders")
    answer = await handle(broker.context, delete("orders", "orders", version=version))
    assert broker.controller.commands == [(DeleteTopics(("orders",)), 5000)]
    assert errors(answer) == {"orders": E.NONE}


async def test_the_answer_waits_until_the_topic_is_not_known_any_more(broker, delete):
    broker.topic("orders", 1)
    broker.controller.answer = marked("orders")
    answer = asyncio.ensure_future(handle(broker.context, delete("orders", timeout_ms=60_000)))
    for _ in range(3):
        await asyncio.sleep(0)
    assert not answer.done()
    broker.topic("orders", -2)
    assert errors(await answer) == {"orders": E.NONE}


async def test_a_topic_that_stays_too_long_is_said_to_be_late(broker, delete):
    broker.topic("orders", 1)
    broker.controller.answer = marked("orders")
    answer = await handle(broker.context, delete("orders", timeout_ms=1))
    assert errors(answer) == {"orders": E.REQUEST_TIMED_OUT}
    assert "still known" in answer.responses[0].error_message


async def test_without_time_there_is_no_success(broker, delete):
    broker.controller.answer = marked("orders")
    assert errors(await handle(broker.context, delete("orders", timeout_ms=0))) == {
        "orders": E.REQUEST_TIMED_OUT
    }


async def test_on_another_broker_every_topic_is_refused(broker, delete):
    broker.controller.answer = Refused(E.NOT_CONTROLLER, "it is broker 2")
    answer = await handle(broker.context, delete("orders", "bills"))
    assert errors(answer) == {"orders": E.NOT_CONTROLLER, "bills": E.NOT_CONTROLLER}


@pytest.mark.parametrize(
    ("version", "expected"), [(1, E.INVALID_REQUEST), (2, E.INVALID_REQUEST), (3, E.TOPIC_DELETION_DISABLED)]
)
async def test_old_clients_do_not_know_that_deletion_is_disabled(broker, delete, version, expected):
    refused = TopicResult("orders", E.TOPIC_DELETION_DISABLED, "disabled")
    broker.controller.answer = DeleteTopicsResult((refused,))
    assert errors(await handle(broker.context, delete("orders", version=version))) == {"orders": expected}


async def test_ids_are_not_supported_and_contradict_names(broker, delete):
    id_ = uuid.uuid4()
    broker.controller.answer = marked("orders")
    answer = await handle(broker.context, delete("orders", ids=[(None, id_), ("bills", id_)]))
    assert errors(answer) == {
        "orders": E.NONE,
        None: E.UNSUPPORTED_VERSION,
        "bills": E.INVALID_REQUEST,
    }
    assert [result.topic_id for result in answer.responses] == [None, id_, id_]
