from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import socket

import pytest
from structlog.testing import capture_logs

from broker.server import clients
from broker.server.clients import ClientListener


@pytest.fixture
async def listen(broker):
    listeners = []

    async def start(max_connections=None, **settings):
        if max_connections is not None:
            values = {**broker.broker_settings.values, "max.connections": max_connections}
            broker.broker_settings = dataclasses.replace(broker.broker_settings, values=values)
        broker.settings = dataclasses.replace(broker.settings, **settings)
        listener = ClientListener(broker.context, "PLAINTEXT")
        listeners.append(listener)
        bound = socket.create_server(("127.0.0.1", 0))
        await listener.start_on(bound)
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


async def test_one_connection_too_many_is_closed(listen):
    listener, port = await listen(max_connections=1)
    _, first = await asyncio.open_connection("127.0.0.1", port)
    await until(lambda: listener.connection_count == 1)
    with capture_logs() as lines:
        reader, second = await asyncio.open_connection("127.0.0.1", port)
        assert await reader.read() == b""
    assert lines[0]["reason"] == "too many connections"
    assert listener.connection_count == 1
    first.close()
    second.close()


async def test_a_silent_connection_is_closed(listen, monkeypatch):
    monkeypatch.setattr(clients, "SWEEP_SECONDS", 0.01)
    _, port = await listen(max_idle_ms=20)
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    with capture_logs() as lines:
        assert await reader.read() == b""
    assert (lines[0]["reason"], lines[0]["maximum_ms"]) == ("idle", 20)
    writer.close()


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


class Transport(asyncio.Transport):
    """Of a connection that is there, and does nothing."""

    def __init__(self, protocol):
        super().__init__({"socket": socket.socket()})
        self._protocol = protocol
        self._loop = asyncio.get_running_loop()

    def set_write_buffer_limits(self, high=None, low=None):
        pass

    def abort(self):
        self._loop.call_soon(self._lost)

    def _lost(self):
        self.get_extra_info("socket").close()
        self._protocol.connection_lost(None)


async def test_a_connection_that_was_accepted_just_before_the_end_does_not_outlive_it(listen, monkeypatch):
    accepts = []

    class Server:
        def close(self):
            pass

    async def create_server(factory, **_):
        accepts.append(factory)
        return Server()

    monkeypatch.setattr(asyncio.get_running_loop(), "create_server", create_server)
    listener, _ = await listen()
    first, late = accepts[0](), accepts[0]()
    first.connection_made(Transport(first))
    stopping = asyncio.ensure_future(listener.stop())
    await asyncio.sleep(0)
    late.connection_made(Transport(late))
    async with asyncio.timeout(60):
        await stopping
    assert listener.connection_count == 0
