from __future__ import annotations

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest
import structlog

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.controller import channels as channels_module
from barnabas.controller.channels import PARTITIONS_PER_MESSAGE, BrokerChannels, ChannelSettings, chunks

HEAD = BrokerId(1), ControllerEpoch(1), BrokerEpoch(7)
SETTINGS = ChannelSettings(session_timeout_ms=6000, request_timeout_ms=5000)
DEADLINE_S = 120
"""Ends a wait that hangs, as in `test_loop.py`."""
LONG_S = 1000.0


def lisr(*numbers: int, epoch: int = 1) -> LeaderAndIsrRequest:
    state = PartitionState(LeaderAndIsr(BrokerId(2), LeaderEpoch(epoch), (BrokerId(2),)), ControllerEpoch(1))
    return LeaderAndIsrRequest(
        *HEAD,
        tuple(
            LeaderAndIsrPartition(TopicPartition("t", n), state, Assignment((BrokerId(2),))) for n in numbers
        ),
    )


def umr() -> UpdateMetadataRequest:
    return UpdateMetadataRequest(*HEAD, (), ())


def stop(*numbers: int) -> StopReplicaRequest:
    return StopReplicaRequest(
        *HEAD,
        tuple(StopReplicaPartition(TopicPartition("t", n), LeaderEpoch(1), delete=False) for n in numbers),
    )


@pytest.fixture
async def stage():
    """Channels, what was answered, and what has died."""
    answered, deaths = [], []
    supervisor = Supervisor(lambda name, error: deaths.append((name, error)))
    channels = BrokerChannels(supervisor, SETTINGS, lambda *answer: answered.append(answer))
    yield SimpleNamespace(channels=channels, answered=answered, supervisor=supervisor)
    channels.close_all()
    assert await supervisor.close(DEADLINE_S) == []
    assert deaths == []


def life(stub, epoch=7):
    return Broker(stub.id, BrokerEpoch(epoch), stub.endpoints)


async def test_requests_arrive_in_order_and_answers_come_back(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    stage.channels.open(life(stub))
    requests = [umr(), lisr(0), stop(1)]
    for request in requests:
        stage.channels.send(stub.id, request)
    await stub.until(lambda received: len(received) == 3)
    assert stub.requests == requests
    assert stub.correlation_ids == [0, 1, 2]


async def test_settled_when_what_was_queued_is_answered_though_more_follows(stage, stub_brokers):
    quick, slow = await stub_brokers(2, 3)
    slow.answers = asyncio.Semaphore(0)
    for stub in (quick, slow):
        stage.channels.open(life(stub))
        stage.channels.send(stub.id, umr())
    settling = asyncio.ensure_future(stage.channels.settle(LONG_S))
    await slow.until(lambda received: len(received) == 1)
    await quick.until(lambda received: len(received) == 1)
    await stage.channels.settle(0)
    assert not settling.done(), "one broker has not answered yet"
    stage.channels.send(slow.id, umr())
    slow.answers.release()
    async with asyncio.timeout(DEADLINE_S):
        await settling
    assert [broker.id for broker, *_ in stage.answered].count(slow.id) == 1


async def test_settled_when_nothing_is_left_of_requests_that_were_merged(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    stub.answers = asyncio.Semaphore(0)
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, umr())
    await stub.until(lambda received: len(received) == 1)
    for request in (umr(), lisr(0), umr()):
        stage.channels.send(stub.id, request)
    channel, _ = stage.channels._open[stub.id]
    settling = asyncio.ensure_future(channel.settle())
    await asyncio.sleep(0)
    stage.channels.send(stub.id, lisr(1))
    for _ in range(2):
        stub.answers.release()
    async with asyncio.timeout(DEADLINE_S):
        await settling
    assert stub.requests == [umr(), umr(), lisr(0, 1)]


async def test_the_answer_names_the_life_that_was_asked(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    heard = asyncio.Event()
    stage.channels._on_response = lambda *answer: (stage.answered.append(answer), heard.set())
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, lisr(0))
    async with asyncio.timeout(DEADLINE_S):
        await heard.wait()
    broker, request, response, correlation_id = stage.answered[0]
    assert (broker.epoch, request, correlation_id) == (7, lisr(0), 0)
    assert list(response.partition_errors) == [TopicPartition("t", 0)]


@pytest.mark.parametrize("request_", [lisr(0), stop(0), umr()], ids=["lisr", "stop", "umr"])
async def test_an_answer_that_cannot_be_understood_is_a_failure_and_not_the_end_of_the_channel(
    stage, stub_brokers, monkeypatch, request_
):
    (stub,) = await stub_brokers(2)
    heard = asyncio.Event()
    stage.channels._on_response = lambda *answer: (stage.answered.append(answer), heard.set())
    call = channels_module.CALLS[type(request_)]
    odd = dict(channels_module.CALLS)
    odd[type(request_)] = replace(call, response=lambda _: ErrorCode(12345))
    monkeypatch.setattr(channels_module, "CALLS", odd)
    stage.channels.open(life(stub))
    with structlog.testing.capture_logs() as lines:
        stage.channels.send(stub.id, request_)
        async with asyncio.timeout(DEADLINE_S):
            await heard.wait()
    response = stage.answered[0][2]
    failed = ErrorCode.UNKNOWN_SERVER_ERROR
    if isinstance(request_, UpdateMetadataRequest):
        assert response.error is failed
    else:
        assert (response.error, response.partition_errors) == (
            ErrorCode.NONE,
            {TopicPartition("t", 0): failed},
        )
    assert [line["event"] for line in lines] == ["the answer of a broker cannot be understood"]
    monkeypatch.undo()
    stage.channels.send(stub.id, umr())
    await stub.until(lambda received: len(received) == 2)


async def test_a_request_is_sent_again_until_the_broker_answers(stage, stub_brokers, monkeypatch):
    monkeypatch.setattr(channels_module, "RETRY_BACKOFF_S", 0.01)
    (stub,) = await stub_brokers(2)
    await stub.stop()
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, umr())
    await asyncio.sleep(0)
    stage.channels.send(stub.id, lisr(0))
    stage.channels.send(stub.id, lisr(0, epoch=2))
    await stub.start()
    await stub.until(lambda received: len(received) >= 2)
    assert stub.requests == [umr(), lisr(0, epoch=2)], "what waited was merged"


async def test_a_channel_is_opened_again_after_an_error_if_the_certificate_has_changed(
    stage, stub_brokers, monkeypatch
):
    """A broker that refuses the former certificate would refuse it for as long as the channel lives."""
    monkeypatch.setattr(channels_module, "RETRY_BACKOFF_S", 0)
    first, second = object(), object()
    failed, current = asyncio.Event(), [first]

    def credentials():
        if failed.is_set():
            current[0] = second
        return current[0]

    def open_channel(host, port, session_ms):
        return plain(host, port if current[0] is second else 1, session_ms)

    plain = channels_module.open_channel
    monkeypatch.setattr(channels_module, "open_channel", open_channel)
    monkeypatch.setattr(channels_module, "current_credentials", credentials)
    monkeypatch.setattr(channels_module._log, "warning", lambda *_, **__: failed.set())
    (stub,) = await stub_brokers(2)
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, umr())
    await stub.until(bool)
    assert stub.requests == [umr()]
    assert failed.is_set()


async def test_what_was_meant_for_one_life_never_reaches_the_next(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    await stub.stop()
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, lisr(0))
    await asyncio.sleep(0)
    stage.channels.close(stub.id)
    await stub.start()
    stage.channels.open(life(stub, epoch=8))
    stage.channels.send(stub.id, umr())
    await stub.until(bool)
    assert stub.requests == [umr()]


async def test_a_broker_without_channel_is_sent_nothing(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    stage.channels.send(stub.id, umr())
    stage.channels.open(life(stub))
    stage.channels.close(stub.id)
    stage.channels.send(stub.id, umr())
    stage.channels.close(stub.id)
    assert stub.requests == []


async def test_a_broker_without_the_listener_is_named_and_hurts_nobody_else(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    deaf = Broker(BrokerId(3), BrokerEpoch(1), (Endpoint("PLAINTEXT", "127.0.0.1", 1),))
    stage.channels.open(deaf)
    stage.channels.send(deaf.id, umr())
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, umr())
    await stub.until(bool)
    assert len(stage.supervisor.names) == 1


async def test_what_cannot_be_encoded_is_named_and_left_out(stage, stub_brokers):
    """A person wrote a number into a znode that no field can hold; the others hear of their partitions."""
    (stub,) = await stub_brokers(2)
    stage.channels.open(life(stub))
    with structlog.testing.capture_logs() as logs:
        stage.channels.send(stub.id, lisr(0, 99_999_999_999, 1))
        stage.channels.send(stub.id, stop(2))
        await stub.until(lambda received: received[-1:] == [stop(2)])
    assert stub.requests == [lisr(0), lisr(1), stop(2)]
    (error,) = [entry for entry in logs if entry["log_level"] == "error"]
    assert error["what"] == "LeaderAndIsr of t-99999999999"
    assert error["broker"] == 2


async def test_a_full_list_ends_though_its_last_partition_cannot_be_encoded(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    stage.channels.open(life(stub))
    stage.channels.send(stub.id, replace(lisr(0, 99_999_999_999), is_full=True))
    stage.channels.send(stub.id, stop(2))
    await stub.until(lambda received: received[-1:] == [stop(2)])
    assert stub.requests == [
        replace(lisr(0), is_full=True, parts_to_follow=1),
        replace(lisr(), is_full=True),
        stop(2),
    ]


async def test_a_request_that_cannot_be_encoded_at_all_does_not_end_the_channel(stage, stub_brokers):
    (stub,) = await stub_brokers(2)
    stage.channels.open(life(stub))
    unreachable = Broker(BrokerId(9), BrokerEpoch(1), (Endpoint("GRPC", "b9", 99_999_999_999),))
    with structlog.testing.capture_logs() as logs:
        stage.channels.send(stub.id, replace(umr(), live_brokers=(unreachable,)))
        await asyncio.sleep(0)
        stage.channels.send(stub.id, stop(2))
        await stub.until(bool)
    assert stub.requests == [stop(2)]
    assert "UpdateMetadata" in [entry.get("what") for entry in logs]


@pytest.mark.parametrize("make", [lisr, stop])
def test_a_large_request_is_sent_in_parts(make):
    request = make(*range(2 * PARTITIONS_PER_MESSAGE + 1))
    parts = list(chunks(request))
    assert [len(part.partitions) for part in parts] == [PARTITIONS_PER_MESSAGE, PARTITIONS_PER_MESSAGE, 1]
    assert tuple(p for part in parts for p in part.partitions) == request.partitions


def test_only_the_last_chunk_completes_the_metadata():
    partition = UpdateMetadataPartition(
        TopicPartition("t", 0), PartitionState(LeaderAndIsr.initial(1, (1,)), 1), (1,)
    )
    whole = replace(umr(), partitions=(partition,) * (PARTITIONS_PER_MESSAGE + 1), is_complete=True)
    assert [part.is_complete for part in chunks(whole)] == [False, True]


@pytest.mark.parametrize(
    "request_", [umr(), replace(umr(), is_complete=True), lisr(0), stop(0)], ids=lambda r: type(r).__name__
)
def test_a_small_request_is_one_part(request_):
    assert list(chunks(request_)) == [request_]


def test_a_full_list_in_parts_says_how_many_follow():
    whole = replace(lisr(*range(7)), is_full=True)
    assert [(part.is_full, part.parts_to_follow) for part in chunks(whole, 3)] == [
        (True, 2),
        (True, 1),
        (True, 0),
    ]
    first, _, _ = chunks(whole, 3)
    assert [part.parts_to_follow for part in chunks(first, 2)] == [3, 2]
    assert [part.parts_to_follow for part in chunks(replace(whole, is_full=False), 3)] == [0, 0, 0]
