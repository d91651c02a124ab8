"""Clients that have used more than their quotas: told at once, served later."""

from __future__ import annotations

import asyncio
import datetime as dt

import pytest
from kio.serial import entity_reader

from barnabas.broker.replicas.interface import Fetched
from barnabas.broker.server.network.connection import ClientConnection
from barnabas.broker.wire.schemas import RESPONSE, load_schema
from barnabas.cluster.model.client_quotas import QuotaEntity
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

ORDERS_0 = TopicPartition("orders", 0)


async def a_moment():
    await asyncio.sleep(0.001)


@pytest.fixture
def produce_quota(broker):
    """The client may produce 100 bytes a second."""
    broker.quotas[QuotaEntity(None, "test")] = {"producer_byte_rate": 100.0}
    return broker


def throttle_ms(answer):
    read, _ = entity_reader(load_schema(0, 9, RESPONSE))(memoryview(answer), 5)
    return read.throttle_time // dt.timedelta(milliseconds=1)


async def test_who_produces_too_much_is_told_at_once_and_served_later(produce_quota, connect, monkeypatch):
    client, muted, mute = await connect(), [], ClientConnection.mute

    def noted(connection, wait_ms):
        muted.append((connection, wait_ms))
        mute(connection, wait_ms)

    monkeypatch.setattr(ClientConnection, "mute", noted)
    client.send(client.produce(1, b"r" * 3_000))
    told_ms = throttle_ms(await client.answer())
    ((connection, wait_ms),) = muted
    assert 15_000 < wait_ms == told_ms < 25_000
    broker = produce_quota
    broker.quotas.clear()
    client.send(client.produce(2))
    while connection._input.frame() is None:
        await a_moment()
    assert len(broker.appends.calls) == 1
    connection._unmute()
    assert await client.correlation_ids(1) == [2]


async def test_without_an_answer_the_channel_is_muted_all_the_same(produce_quota, connect, monkeypatch):
    muted = []
    monkeypatch.setattr(ClientConnection, "mute", lambda _self, wait_ms: muted.append(wait_ms))
    client = await connect()
    client.send(client.produce(1, b"r" * 3_000, acks=0), client.api_versions(2))
    assert await client.correlation_ids(1) == [2]
    assert len(muted) == 1


async def test_who_fetches_too_much_gets_nothing_and_waits(broker, connect, monkeypatch):
    broker.quotas[QuotaEntity("ANONYMOUS")] = {"consumer_byte_rate": 100.0}
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, b"r" * 3_000, 5, 5, 0)
    muted = []
    monkeypatch.setattr(ClientConnection, "mute", lambda _self, wait_ms: muted.append(wait_ms))
    client = await connect()
    client.send(client.fetch(1))
    read, _ = entity_reader(load_schema(1, 4, RESPONSE))(memoryview(await client.answer()), 4)
    assert (read.responses, read.throttle_time) == ((), dt.timedelta(milliseconds=muted[0]))


async def test_who_keeps_the_broker_busy_waits_a_second_at_most(broker, connect, monkeypatch):
    broker.quotas[QuotaEntity("")] = {"request_percentage": 0.0}
    muted = []
    monkeypatch.setattr(ClientConnection, "mute", lambda _self, wait_ms: muted.append(wait_ms))
    client = await connect()
    client.send(client.end_offsets(1, 2), client.api_versions(2))
    assert await client.correlation_ids(2) == [1, 2]
    assert muted == [1_000, 1_000]


async def test_a_fetch_that_took_too_much_time_gets_no_records_and_counts_no_bytes(
    broker, connect, monkeypatch
):
    broker.quotas[QuotaEntity("ANONYMOUS")] = {"request_percentage": 0.0, "consumer_byte_rate": 1e9}
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, b"r" * 3_000, 5, 5, 0)
    muted = []
    monkeypatch.setattr(ClientConnection, "mute", lambda _self, wait_ms: muted.append(wait_ms))
    client = await connect()
    client.send(client.fetch(1))
    read, _ = entity_reader(load_schema(1, 4, RESPONSE))(memoryview(await client.answer()), 4)
    assert (read.responses, read.throttle_time, muted) == ((), dt.timedelta(seconds=1), [1_000])


async def test_a_follower_that_fetches_is_throttled_by_no_quota_of_clients(broker, connect, monkeypatch):
    broker.quotas[QuotaEntity("ANONYMOUS")] = {"request_percentage": 0.0, "consumer_byte_rate": 100.0}
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, b"r" * 3_000, 5, 5, 0)
    muted = []
    monkeypatch.setattr(ClientConnection, "mute", lambda _self, wait_ms: muted.append(wait_ms))
    client = await connect()
    client.send(client.fetch(1, replica_id=2))
    read, _ = entity_reader(load_schema(1, 4, RESPONSE))(memoryview(await client.answer()), 4)
    assert len(read.responses[0].partitions[0].records) == 3_000
    assert (read.throttle_time, muted) == (dt.timedelta(0), [])
