from __future__ import annotations

import asyncio
import time

import pytest

from barnabas.bench.stubs import cluster
from barnabas.bench.stubs.brokers import StubBroker
from barnabas.bench.stubs.cluster import BROKERS, TOPICS, Answers, Lag, layout
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.cluster.model.statechange import ControllerLines
from barnabas.cluster.rpc import control_pb2 as pb

BROKER = Broker(BROKERS[0], BrokerEpoch(7), (Endpoint("GRPC", "127.0.0.1", 1),))


def test_the_layout_spreads_leaders_evenly_over_the_brokers():
    topics = layout(10 * TOPICS)
    assert {len(numbers) for numbers in topics.values()} == {10}
    assignments = [assignment.replicas for numbers in topics.values() for assignment in numbers.values()]
    assert all(sorted(replicas) == list(BROKERS) for replicas in assignments)
    leaders = [replicas[0] for replicas in assignments]
    assert max(map(leaders.count, BROKERS)) - min(map(leaders.count, BROKERS)) <= 1


@pytest.fixture
async def answers(tmp_path, monkeypatch):
    monkeypatch.setattr(cluster, "SILENCE_S", 0.02)
    log = Answers(tmp_path / "state-change.log")
    yield log
    log.close()


def answered(response):
    return ControllerLines(BROKERS[0], ControllerEpoch(1)).received_response(response, 0, BROKER)


async def test_the_last_answer_to_leader_and_isr_is_known_once_no_more_come(answers):
    loop = asyncio.get_running_loop()
    answers.write(answered(LeaderAndIsrResponse(ErrorCode.NONE)))
    settling = loop.create_task(answers.settle())
    await asyncio.sleep(0)
    answers.write(answered(LeaderAndIsrResponse(ErrorCode.NONE)))
    second = time.perf_counter()
    assert await settling <= second
    answers.expect()
    with pytest.raises(RuntimeError, match="no LeaderAndIsr was answered"):
        await answers.settle()


async def test_other_answers_do_not_count(answers):
    answers.write(answered(UpdateMetadataResponse(ErrorCode.NONE)))
    with pytest.raises(RuntimeError, match="no LeaderAndIsr was answered"):
        await answers.settle()


async def test_lag_is_what_a_busy_loop_makes_others_wait():
    lag = Lag()
    watching = asyncio.get_running_loop().create_task(lag.watch())
    await asyncio.sleep(0)
    begun = time.perf_counter()
    while time.perf_counter() < begun + 0.01:
        pass
    await asyncio.sleep(0.002)
    watching.cancel()
    assert lag.most_s >= 0.005


async def test_every_request_is_answered_without_error():
    stub = StubBroker()
    answers = [
        await stub.LeaderAndIsr(pb.LeaderAndIsrRequest(), None),
        await stub.UpdateMetadata(pb.UpdateMetadataRequest(), None),
        await stub.StopReplica(pb.StopReplicaRequest(), None),
    ]
    assert [answer.error_code for answer in answers] == [0, 0, 0]
