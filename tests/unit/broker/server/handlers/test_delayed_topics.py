from __future__ import annotations

import asyncio
from dataclasses import replace

from barnabas.broker.server.handlers.delayed_topics import PROPAGATION_S, await_absence, await_leaders
from barnabas.broker.server.portions import RequestDeadline
from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import TopicResult
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.requests import UpdateMetadataRequest
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.controller.channels import BrokerChannels, ChannelSettings

REFUSED = TopicResult("other", ErrorCode.INVALID_CONFIG, "refused")


async def test_what_was_refused_is_not_waited_for(broker) -> None:
    assert await await_leaders(broker.context, [REFUSED], RequestDeadline(60_000)) == {}
    assert broker.propagations == []
    broker.topic("other", 1)
    assert await await_absence(broker.context, [REFUSED], RequestDeadline(60_000)) == {}


async def test_what_is_late_is_named_with_its_time(broker) -> None:
    broker.topic("t", 1, -1)
    asked = [TopicResult("t", ErrorCode.NONE, None, 2), REFUSED]
    leaders = await await_leaders(broker.context, asked, RequestDeadline(1))
    absence = await await_absence(broker.context, asked, RequestDeadline(1))
    assert {name: result.error for name, result in leaders.items()} == {"t": ErrorCode.REQUEST_TIMED_OUT}
    assert broker.propagations == []
    assert "within 1 ms" in (leaders["t"].message or "")
    assert "after 1 ms" in (absence["t"].message or "")


async def test_a_creation_ends_when_the_other_brokers_know_the_leaders(broker, stub_brokers) -> None:
    """Clients may ask any of them at once (librdkafka: "Failed to query partition leaders")."""
    (stub,) = await stub_brokers(2)
    stub.answers = asyncio.Semaphore(0)
    supervisor = Supervisor(lambda *_: None)
    channels = BrokerChannels(supervisor, ChannelSettings(6000, 60_000), lambda *_: None)
    channels.open(Broker(stub.id, BrokerEpoch(7), stub.endpoints))
    channels.send(stub.id, UpdateMetadataRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(7), (), ()))
    broker.topic("t", 1)
    created = [TopicResult("t", ErrorCode.NONE, None, 1)]

    async def unbounded(_timeout_s: float) -> None:
        await channels.settle(1000)

    context = replace(broker.context, await_propagation=unbounded)
    answer = asyncio.ensure_future(await_leaders(context, created, RequestDeadline(60_000)))
    await stub.until(lambda received: len(received) == 1)
    assert not answer.done()
    stub.answers.release()
    async with asyncio.timeout(20):
        assert await answer == {}
    channels.close_all()
    await supervisor.close(20)


async def test_a_broker_that_hangs_delays_a_creation_for_a_bounded_time(broker) -> None:
    broker.topic("t", 1)
    created = [TopicResult("t", ErrorCode.NONE, None, 1)]
    for timeout_ms in (60_000, 500):
        assert await await_leaders(broker.context, created, RequestDeadline(timeout_ms)) == {}
    assert broker.propagations[0] == PROPAGATION_S
    assert 0 < broker.propagations[1] <= 0.5
