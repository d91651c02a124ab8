from __future__ import annotations

import asyncio

import grpc
import grpc.aio
import pytest

from barnabas.cluster.rpc.channels import (
    CORRELATION_ID_KEY,
    FRAME_BYTES,
    MAX_MESSAGE_BYTES,
    channel_options,
    correlation_id_of,
    current_credentials,
    open_channel,
    server_options,
    take_credentials,
    take_detours,
)

SESSION_MS = 6000


def test_two_servers_cannot_share_a_port_in_silence():
    assert dict(server_options(SESSION_MS))["grpc.so_reuseport"] == 0


@pytest.mark.parametrize(
    ("limit", "option"), [(-1, 2**31 - 1), (0, 1), (600_000, 600_000), (2**63, 2**31 - 1)]
)
def test_idle_connections_are_closed_as_the_setting_says(limit, option):
    assert dict(server_options(SESSION_MS, max_idle_ms=limit))["grpc.max_connection_idle_ms"] == option


def test_a_request_without_a_correlation_id_has_number_0():
    assert correlation_id_of(None) == correlation_id_of(()) == 0
    assert correlation_id_of(((CORRELATION_ID_KEY, "2147483647"),)) == 2**31 - 1


@pytest.mark.parametrize("junk", ["", "x", "-1", "\u0661", "2147483648", b"1"])
def test_a_correlation_id_that_is_no_number_is_named(junk):
    with pytest.raises(ValueError, match="correlation-id is"):
        correlation_id_of(((CORRELATION_ID_KEY, junk),))


def test_a_vanished_peer_is_noticed_before_its_session_ends():
    for options in (dict(channel_options(SESSION_MS)), dict(server_options(SESSION_MS))):
        assert 0 < options["grpc.keepalive_time_ms"] + options["grpc.keepalive_timeout_ms"] < SESSION_MS


def test_a_lost_peer_is_dialled_again_soon():
    assert dict(channel_options(SESSION_MS))["grpc.max_reconnect_backoff_ms"] <= 500


def test_both_sides_state_the_same_sizes():
    for options in (dict(channel_options(SESSION_MS)), dict(server_options(SESSION_MS))):
        assert options["grpc.max_send_message_length"] == MAX_MESSAGE_BYTES
        assert options["grpc.max_receive_message_length"] == MAX_MESSAGE_BYTES
        assert options["grpc.http2.max_frame_size"] == FRAME_BYTES <= 2**24 - 1
        assert options["grpc.http2.lookahead_bytes"] >= FRAME_BYTES


async def serve(host: str = "127.0.0.1") -> tuple[grpc.aio.Server, int]:
    server = grpc.aio.server(options=server_options(SESSION_MS))
    port = server.add_insecure_port(f"{host}:0")
    await server.start()
    return server, port


async def test_a_taken_port_is_refused():
    server, port = await serve()
    second = grpc.aio.server(options=server_options(SESSION_MS))
    with pytest.raises(RuntimeError):
        second.add_insecure_port(f"127.0.0.1:{port}")
    await server.stop(0)


async def test_a_channel_finds_its_server():
    server, port = await serve()
    async with open_channel("127.0.0.1", port, SESSION_MS) as channel:
        async with asyncio.timeout(10):
            await channel.channel_ready()
    await server.stop(0)


def test_an_ipv6_address_is_put_in_brackets(monkeypatch):
    dialled = []
    monkeypatch.setattr(grpc.aio, "insecure_channel", lambda target, options: dialled.append(target))
    open_channel("::1", 1, SESSION_MS)
    open_channel("host", 2, SESSION_MS)
    assert dialled == ["[::1]:1", "host:2"]


def test_an_address_with_a_detour_is_dialled_by_it(monkeypatch):
    dialled = []
    monkeypatch.setattr(grpc.aio, "insecure_channel", lambda target, options: dialled.append(target))
    take_detours({"host:1": "proxy:7"})
    open_channel("host", 1, SESSION_MS)
    open_channel("host", 2, SESSION_MS)
    take_detours({})
    open_channel("host", 1, SESSION_MS)
    assert dialled == ["proxy:7", "host:2", "host:1"]


def test_with_credentials_every_channel_is_encrypted_and_checks_the_name_that_was_asked_for(monkeypatch):
    dialled, made = [], object()

    def dial(target, credentials, options):
        dialled.append((target, credentials, dict(options).get("grpc.ssl_target_name_override")))

    monkeypatch.setattr(grpc.aio, "secure_channel", dial)
    assert current_credentials() is None
    take_credentials(lambda: made)
    take_detours({"host:1": "proxy:7"})
    open_channel("host", 1, SESSION_MS)
    open_channel("host", 2, SESSION_MS)
    take_detours({})
    take_credentials(None)
    assert current_credentials() is None
    assert dialled == [("proxy:7", made, "host"), ("host:2", made, None)]
