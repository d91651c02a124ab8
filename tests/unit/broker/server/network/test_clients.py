from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket
import ssl
import struct

import pytest
from structlog.testing import capture_logs

from barnabas.broker.replicas.interface import Fetched
from barnabas.broker.server.network import clients
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.network.connection_limits import limits_of
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from tests.unit.broker.server.raw_client import Client


def limited_to(broker, max_connections):
    values = {**broker.broker_settings.values, "max.connections": max_connections}
    broker.broker_settings = dataclasses.replace(broker.broker_settings, values=values)


@pytest.fixture
async def listen(broker):
    listeners = []

    async def start(max_connections=None, mechanisms=None, tls=None, **settings):
        if max_connections is not None:
            limited_to(broker, max_connections)
        broker.settings = dataclasses.replace(broker.settings, **settings)
        quotas = ConnectionQuotas(
            lambda: limits_of(broker.context.broker_settings(), ()), first_kept_back=10_000
        )
        listener = ClientListener(broker.context, quotas, "L", mechanisms=mechanisms, tls=tls)
        listeners.append(listener)
        bound = socket.create_server(("127.0.0.1", 0))
        bound.settimeout(0)
        listener.start_on(bound)
        return listener, bound.getsockname()[1]

    yield start
    for listener in listeners:
        await listener.stop()


async def a_moment():
    await asyncio.sleep(0.001)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


async def test_connections_are_counted(listen):
    listener, port = await listen()
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    writer.close()
    await until(lambda: listener.connection_count == 0)


async def test_the_limit_of_connections_may_change_meanwhile(listen, broker):
    listener, port = await listen(max_connections=0)
    broker.broker_settings = dataclasses.replace(
        broker.broker_settings, values={**broker.broker_settings.values, "max.connections": 1}
    )
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    writer.close()


async def test_one_connection_too_many_waits_until_another_is_gone(listen):
    """Kafka's acceptor waits for a slot (``ConnectionQuotas``)."""
    listener, port = await listen(max_connections=1)
    _, first = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    with capture_logs() as lines:
        _, second = await asyncio.open_connection("127.0.0.1", port)
        await until(lambda: lines)
    assert lines[0]["reason"] == "max.connections allows no more than 1; raise it"
    assert listener.connection_count == 1
    first.close()
    await first.wait_closed()
    await until(lambda: listener.connection_count == 1)
    second.write(b"\0\0\0\1x")
    await until(lambda: listener.connection_count == 0)
    second.close()


async def test_a_silent_connection_is_closed(listen, monkeypatch):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.01)
    _, port = await listen(max_idle_ms=20)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with capture_logs() as lines:
        assert await reader.read() == b""
    assert (lines[0]["reason"], lines[0]["maximum_ms"]) == ("idle", 20)
    writer.close()


async def test_memory_is_returned_when_many_connections_have_gone(listen, monkeypatch):
    returned = asyncio.Event()
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(clients, "MANY_GONE", 3)
    monkeypatch.setattr(clients, "return_freed_memory", returned.set)
    _, port = await listen()
    for number in range(3):
        assert not returned.is_set(), f"after {number} connections"
        _, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.close()
    async with asyncio.timeout(60):
        await returned.wait()


async def test_a_client_that_authenticates_byte_by_byte_is_closed(listen, monkeypatch):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.001)
    monkeypatch.setattr(clients, "AUTHENTICATION_SECONDS", 0.05)
    listener, port = await listen(mechanisms={})
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write((100_000).to_bytes(4))
    with capture_logs() as lines, contextlib.suppress(ConnectionError):
        await until(lambda: listener.connection_count == 1)
        for _ in range(100_000):
            writer.write(b"\0")
            await writer.drain()
            await a_moment()
            if reader.at_eof():
                break
    await until(lambda: listener.connection_count == 0)
    assert [line["reason"] for line in lines] == ["the client has not authenticated in time"]
    writer.close()


async def test_a_connection_without_tls_of_its_own_is_closed_and_counts_no_more(listen):
    class BrokenTls:
        @property
        def context(self):
            raise ssl.SSLError("no key")

    listener, port = await listen(tls=BrokenTls(), max_connections=1)
    for _ in range(3):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
        writer.close()
    assert listener.connection_count == 0


async def test_a_silent_connection_whose_client_reads_nothing_is_closed(listen, broker, schema, monkeypatch):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.01)
    broker.reads.fetched[TopicPartition("orders", 0)] = Fetched(ErrorCode.NONE, bytes(16_000_000), 1, 1, 0)
    listener, port = await listen(max_idle_ms=20)
    client = Client(schema, *await asyncio.open_connection("127.0.0.1", port))
    with capture_logs():
        client.send(client.fetch(1))
        await until(lambda: broker.reads.calls)
        await until(lambda: listener.connection_count == 0)
    client.writer.close()


async def test_the_end_closes_what_is_connected(listen):
    listener, port = await listen()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    await listener.stop()
    assert listener.connection_count == 0
    with contextlib.suppress(ConnectionResetError):
        assert await reader.read() == b""
    writer.close()
    with pytest.raises(OSError, match="Connect call failed"):
        await asyncio.open_connection("127.0.0.1", port)


async def test_a_connection_that_was_accepted_just_before_the_end_does_not_outlive_it(listen):
    listener, port = await listen()
    with socket.create_connection(("127.0.0.1", port)) as late:
        listener._acceptor._accept()  # as the loop does; the connection is made a turn later
        assert listener.connection_count == 0
        async with asyncio.timeout(60):
            await listener.stop()
        assert listener.connection_count == 0
        with contextlib.suppress(ConnectionResetError):
            assert await asyncio.to_thread(late.recv, 1) == b""


async def test_who_hangs_up_before_being_accepted_takes_no_slot(listen):
    listener, port = await listen(max_connections=1)
    for _ in range(5):
        gone = socket.create_connection(("127.0.0.1", port))
        gone.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        gone.close()
    _, writer = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    writer.close()


async def test_the_longest_silent_connections_are_closed_when_the_maximum_is_lowered(
    listen, broker, schema, monkeypatch
):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.01)
    listener, port = await listen()
    connected = []
    for number in range(3):
        connected.append(Client(schema, *await asyncio.open_connection("127.0.0.1", port)))
        await until(lambda expected=number + 1: listener.connection_count == expected)
    connected[0].send(connected[0].api_versions(1))
    await connected[0].reader.readexactly(4)
    with capture_logs() as lines:
        limited_to(broker, 1)
        for each in connected[1:]:
            with contextlib.suppress(ConnectionResetError):
                assert await each.reader.read() == b""
    assert listener.connection_count == 1
    assert lines[0]["reason"] == "max.connections was lowered"
    for each in connected:
        each.writer.close()
