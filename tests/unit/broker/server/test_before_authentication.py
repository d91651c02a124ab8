"""Every served API and version from a client that has not authenticated, through the gate of a listener.

The requests are those of the table of grants (``gates/rows.py``). The codes are those of Kafka: nothing is
answered before SaslHandshake, and ILLEGAL_SASL_STATE between it and the token.
"""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from barnabas.broker.server.network.registry import HANDLERS
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.server.gates.rows import NEEDS_NOTHING, ROWS, TOLD, request_of, versions
from tests.unit.broker.server.raw_client import framed
from tests.unit.broker.server.sasl_client import BAD

REQUESTS = [(key, values) for key, values, *_ in ROWS] + [(key, {}) for key in NEEDS_NOTHING]


@pytest.fixture(autouse=True)
def no_delay(broker):
    """Let a failed authentication be answered at once."""
    broker.settings = dataclasses.replace(broker.settings, failed_authentication_delay_ms=0)


def frames_of(key, values):
    return [(version, framed(request_of(key, version, values).body, 5)) for version in versions(key)]


def assert_nothing_got_through(broker):
    """Nothing behind the handlers was asked for anything."""
    for part in (broker.appends, broker.deletes, broker.reads):
        assert part.calls == []
    for part in (broker.controller, broker.any_controller):
        assert part.commands == []
    assert broker.groups.asked == broker.groups.offsets.asked == broker.topic_overrides.asked == []
    assert (broker.groups.topic.created, broker.producer_ids.next) == (0, 4000)
    assert (broker.quota_store.settings, broker.reads.portions) == ({}, [])


def test_requests_of_every_served_api_are_sent():
    assert {key for key, _ in REQUESTS} == set(HANDLERS)


@pytest.mark.parametrize(("key", "values"), REQUESTS)
async def test_the_first_request_is_closed_without_an_answer(connect_to, broker, key, values):
    for _, frame in frames_of(key, values):
        if key in (ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE):
            continue
        client = await connect_to()
        client.send(frame)
        assert await client.is_closed()
    assert_nothing_got_through(broker)


@pytest.mark.parametrize(("key", "values"), REQUESTS)
async def test_so_is_one_behind_api_versions(connect_to, broker, key, values):
    for _, frame in frames_of(key, values):
        if key is ApiKey.SASL_HANDSHAKE:
            continue
        client = await connect_to()
        client.send(client.plain.api_versions(1))
        await client.answer(ApiKey.API_VERSIONS, 0)
        client.send(frame)
        assert await client.is_closed()
    assert_nothing_got_through(broker)


@pytest.mark.parametrize(("key", "values"), REQUESTS)
async def test_one_behind_a_handshake_is_told_the_state_if_it_can_be_told(connect_to, broker, key, values):
    for version, frame in frames_of(key, values):
        if key is ApiKey.SASL_AUTHENTICATE:
            continue
        client = await connect_to()
        client.handshake()
        await client.answer(ApiKey.SASL_HANDSHAKE, 1)
        client.send(frame)
        if version >= TOLD.get(key, version + 1):
            answer = await client.answer(key, version)
            assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
            assert "secret" not in repr(answer)
        assert await client.is_closed()
    assert_nothing_got_through(broker)


@pytest.mark.parametrize(("key", "values"), REQUESTS)
async def test_one_behind_a_wrong_password_gets_nothing_but_the_refusal(connect_to, broker, key, values):
    for _, frame in frames_of(key, values):
        client = await connect_to()
        client.handshake()
        await client.answer(ApiKey.SASL_HANDSHAKE, 1)
        client.token(BAD)
        client.send(frame)
        refusal = await client.answer(ApiKey.SASL_AUTHENTICATE, 2)
        assert refusal.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
        async with asyncio.timeout(60):
            assert await client.reader.read() == b""
    assert_nothing_got_through(broker)


async def test_the_same_requests_get_through_once_the_client_is_known(connect_to, broker):
    client = await connect_to()
    await client.log_in()
    for _, frame in frames_of(ApiKey.FIND_COORDINATOR, {"key": "secret"}):
        client.send(frame)
        assert await client.frame() != b""
    (_, frame) = frames_of(*next(row for row in REQUESTS if row[0] is ApiKey.FETCH))[-1]
    client.send(frame)
    await client.frame()
    assert broker.reads.calls != []
