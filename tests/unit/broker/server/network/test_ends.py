"""The end of connections whose requests wait or have not started."""

from __future__ import annotations

import asyncio
import socket
import struct

import pytest

from barnabas.broker.server import fairness
from barnabas.broker.server.network import clients
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.pipeline import RequestPipeline


async def a_moment():
    await asyncio.sleep(0.001)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


def reset(client):
    """End a connection by RST, as a client that was killed with unread answers does."""
    sock = client.writer.get_extra_info("socket")
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.writer.transport.abort()


def close(client):
    client.writer.close()


@pytest.mark.parametrize("leave", [close, reset])
async def test_requests_of_clients_that_leave_together_end_in_turns(
    broker, connect, turns, monkeypatch, leave
):
    monkeypatch.setattr(clients, "ENDED_AT_ONCE", 4)
    turns.count(monkeypatch, RequestPipeline, "cancel")
    broker.reads.hold = True
    before = len(asyncio.all_tasks())
    leaving = [await connect() for _ in range(20)]
    for client in leaving:
        client.send(client.fetch(1))
    await until(lambda: len(broker.reads.calls) == 20)
    for client in leaving:
        leave(client)
    await until(lambda: len(asyncio.all_tasks()) == before)
    # Each counts for itself and for its request.
    assert (turns.all, turns.most_in_a_turn()) == (20, 2)


async def test_a_connection_counts_until_it_is_closed_and_no_longer(broker, connect, monkeypatch):
    closed = []
    monkeypatch.setattr(ConnectionQuotas, "closed", lambda _, *connection: closed.append(connection))
    broker.reads.hold = True
    client = await connect()
    client.send(client.fetch(1))
    await until(lambda: broker.reads.held is not None)
    client.writer.write_eof()
    await until(broker.reads.held.cancelled)
    assert await client.is_closed()
    await until(lambda: closed)
    assert closed == [("PLAINTEXT", "127.0.0.1")]


async def test_what_a_dead_client_asked_for_is_dropped(broker, connect, monkeypatch):
    monkeypatch.setattr(fairness, "TURN_S", 1e-9)
    client, other = await connect(), await connect()
    client.send(*(client.fetch(number) for number in range(200)))
    for _ in range(1000):
        if broker.reads.calls:
            break
        await asyncio.sleep(0)
    reset(client)
    other.send(other.api_versions(1))
    assert await other.correlation_ids(1) == [1]
    for _ in range(50):
        await a_moment()
    served = len(broker.reads.calls)
    assert served < 200
    await a_moment()
    assert len(broker.reads.calls) == served
