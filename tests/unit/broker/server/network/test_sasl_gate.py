"""The gate over real loopback sockets: what passes before authentication, raw tokens, and the delayed end."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import struct

import pytest

from barnabas.broker.server.network import clients, sasl_gate
from barnabas.cluster.model.errors import ErrorCode
from tests.unit.broker.server.raw_client import sized
from tests.unit.broker.server.sasl_client import BAD, GOOD


async def test_a_client_logs_in_and_is_served(connect_to):
    client = await connect_to()
    client.send(client.plain.api_versions(1))
    assert (await client.answer(18, 0)).error_code == ErrorCode.NONE
    answer = await client.log_in()
    assert (answer.error_code, answer.auth_bytes) == (ErrorCode.NONE, b"")
    client.send(client.plain.api_versions(3))
    assert (await client.answer(18, 0)).error_code == ErrorCode.NONE


async def test_tokens_without_requests_follow_handshake_0(connect_to):
    client = await connect_to()
    client.handshake(version=0)
    assert (await client.answer(17, 0)).mechanisms == ("PLAIN",)
    client.send(sized(GOOD))
    assert await client.frame() == b""
    client.send(client.plain.api_versions(3))
    assert (await client.answer(18, 0)).error_code == ErrorCode.NONE


async def test_a_wrong_token_without_a_request_gets_no_answer(connect_to):
    client = await connect_to()
    client.handshake(version=0)
    await client.answer(17, 0)
    client.send(sized(BAD))
    assert await client.is_closed()


async def test_a_wrong_password_is_answered_after_the_delay(connect_to, monkeypatch):
    delays = []
    client = await connect_to()
    loop = asyncio.get_running_loop()
    call_later = loop.call_later
    monkeypatch.setattr(
        loop, "call_later", lambda s, *rest, **more: delays.append(s) or call_later(s, *rest, **more)
    )
    client.handshake()
    await client.answer(17, 1)
    client.token(BAD)
    client.send(client.plain.api_versions(9))
    answer = await client.answer(36, 2)
    assert answer.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert answer.error_message == "Authentication failed: Invalid username or password"
    assert await client.is_closed()
    assert 0.1 in delays


async def test_an_unknown_mechanism_is_told_the_enabled_ones(connect_to):
    client = await connect_to()
    client.handshake(mechanism="plain")
    answer = await client.answer(17, 1)
    assert (answer.error_code, answer.mechanisms) == (ErrorCode.UNSUPPORTED_SASL_MECHANISM, ("PLAIN",))
    assert await client.is_closed()


async def test_an_unknown_version_of_api_versions_may_be_tried_again(connect_to):
    client = await connect_to()
    client.send(sized(struct.pack(">hhih", 18, 99, 1, -1)))
    assert (await client.answer(18, 0)).error_code == ErrorCode.UNSUPPORTED_VERSION
    client.send(client.plain.api_versions(1))
    assert (await client.answer(18, 0)).error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    "frame",
    [
        struct.pack(">hhih", 3, 4, 1, -1) + b"\0\0\0\0\0",  # Metadata
        struct.pack(">hhih", 36, 1, 1, -1) + b"\0\0\0\0",  # SaslAuthenticate before a handshake
        struct.pack(">hhih", 17, 9, 1, -1),  # a version that is not served
        struct.pack(">hhih", 17, 1, 1, -1) + b"\x7f\xff",  # no request
        b"",
        b"\x60\x01",
    ],
)
async def test_anything_else_is_closed_without_an_answer(connect_to, frame):
    client = await connect_to()
    client.send(sized(frame))
    assert await client.is_closed()


@pytest.mark.parametrize(
    ("frame", "key", "version"),
    [
        (struct.pack(">hhih", 18, 1, 1, -1), 18, 1),
        (struct.pack(">hhih", 18, 99, 1, -1), 18, 0),
        (struct.pack(">hhih", 17, 1, 1, -1) + b"\0\5PLAIN", 17, 1),
        (struct.pack(">hhih", 10, 1, 1, -1) + b"\0\1g\0", 10, 1),
    ],
)
async def test_a_request_between_handshake_and_token_is_told_the_state(connect_to, frame, key, version):
    client = await connect_to()
    client.handshake()
    await client.answer(17, 1)
    client.send(sized(frame))
    assert (await client.answer(key, version)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert await client.is_closed()


async def test_a_request_without_an_error_of_its_own_is_closed_between_handshake_and_token(connect_to):
    client = await connect_to()
    client.handshake()
    await client.answer(17, 1)
    client.send(sized(struct.pack(">hhih", 3, 4, 1, -1) + b"\0\0\0\0\0"))
    assert await client.is_closed()


async def test_a_frame_is_short_before_authentication(connect_to, broker):
    client = await connect_to()
    client.send(struct.pack(">i", broker.context.settings.sasl_max_receive_bytes + 1))
    assert await client.is_closed()
    client = await connect_to()
    await client.log_in()
    client.send(struct.pack(">i", broker.context.settings.sasl_max_receive_bytes + 1), b"\0" * 8)
    client.send(b"\0" * (broker.context.settings.sasl_max_receive_bytes - 7))
    assert await client.is_closed()  # because there is no such request, after all of it was read


async def test_an_authenticated_client_cannot_authenticate_again_without_a_session(connect_to):
    client = await connect_to()
    await client.log_in()
    client.handshake()
    assert (await client.answer(17, 1)).error_code == ErrorCode.ILLEGAL_SASL_STATE
    client.token(GOOD)
    assert (await client.answer(36, 2)).error_code == ErrorCode.ILLEGAL_SASL_STATE


async def test_a_session_is_renewed_or_ends(connect_to, monkeypatch):
    now = [1_000]
    monkeypatch.setattr(sasl_gate.SaslGate, "_now_ms", property(lambda gate: now[0]))
    client = await connect_to(max_reauth_ms=5_000)
    assert (await client.log_in()).session_lifetime.total_seconds() == 5
    now[0] += 2_000
    await client.log_in()
    now[0] += 5_000
    client.send(client.plain.api_versions(1))
    await client.answer(18, 0)
    now[0] += 1
    client.send(client.plain.api_versions(1))
    assert await client.is_closed()


async def test_a_session_that_has_ended_is_renewed(connect_to, monkeypatch):
    now = [1_000]
    monkeypatch.setattr(sasl_gate.SaslGate, "_now_ms", property(lambda gate: now[0]))
    client = await connect_to(max_reauth_ms=5_000)
    await client.log_in()
    now[0] += 60_000
    assert (await client.log_in()).session_lifetime.total_seconds() == 5
    client.send(client.plain.api_versions(1))
    await client.answer(18, 0)


async def test_a_client_that_does_not_authenticate_is_closed_when_it_is_idle(connect_to, broker, monkeypatch):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.01)
    broker.settings = dataclasses.replace(broker.settings, max_idle_ms=20)
    for begins in (False, True):
        client = await connect_to()
        if begins:
            client.handshake()
        async with asyncio.timeout(60):
            with contextlib.suppress(ConnectionResetError):
                await client.reader.read()


async def test_authentications_are_counted_by_listener(connect_to, broker, monkeypatch):
    now = [1_000]
    monkeypatch.setattr(sasl_gate.SaslGate, "_now_ms", property(lambda gate: now[0]))
    client = await connect_to(max_reauth_ms=5_000)
    await client.log_in()
    now[0] += 2_000
    await client.log_in()
    now[0] += 2_000
    client.handshake()
    await client.answer(17, 1)
    client.token(BAD)
    await client.answer(36, 2)
    assert await client.is_closed()
    other = await connect_to(max_reauth_ms=1)
    other.handshake(mechanism="plain")
    await other.answer(17, 1)
    assert await other.is_closed()
    late = await connect_to(max_reauth_ms=1)
    await late.log_in()
    now[0] += 2
    late.send(late.plain.api_versions(1))
    assert await late.is_closed()

    def counted(name):
        sample = f"kafka_server_socket_server_metrics_{name}_total"
        return broker.context.meter._metrics.registry.get_sample_value(sample, {"listener": "SASL_PLAINTEXT"})

    assert counted("connection_creation") == 3
    assert counted("successful_authentication") == 2
    assert counted("successful_reauthentication") == 1
    assert counted("failed_authentication") == 1
    assert counted("failed_reauthentication") == 1
    assert counted("expired_connections_killed_count") == 1
