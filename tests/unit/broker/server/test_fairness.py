from __future__ import annotations

import asyncio
import socket
import struct
from collections import Counter

import pytest
import uvloop

from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits
from barnabas.broker.server import fairness
from barnabas.broker.server.fairness import FairQueue, Share
from barnabas.broker.server.handlers import api_versions
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.wire.apis import ApiKey


def api_versions_request(number):
    return struct.pack(">ihhih", 10, ApiKey.API_VERSIONS, 0, number, -1)


class Clock:
    def __init__(self):
        self.now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(fairness, "perf_counter", clock)
    return clock


class Client:
    """Has so many requests, each of which takes so long."""

    def __init__(self, name, clock, log, *, requests=1, takes=0.0):
        self.name, self.requests, self.share = name, requests, Share()
        self._clock, self._log, self._takes = clock, log, takes

    def serve(self):
        self.requests -= 1
        self._log.append(self.name)
        self._clock.now += self._takes
        return self.requests > 0


async def all_served():
    for _ in range(20):
        await asyncio.sleep(0)


async def test_who_is_alone_is_served_at_once(clock):
    log, queue = [], FairQueue()
    queue.ready(Client("a", clock, log))
    assert log == ["a"]


async def test_the_loop_gets_its_turn_between_long_requests(clock):
    log, queue = [], FairQueue()
    queue.ready(Client("a", clock, log, requests=3, takes=fairness.TURN_S))
    turns = []
    while len(log) < 3:
        turns.append(len(log))
        await asyncio.sleep(0)
    assert turns == [1, 2]


async def test_short_requests_share_one_turn(clock):
    log, queue = [], FairQueue()
    queue.ready(Client("a", clock, log, requests=100, takes=fairness.TURN_S / 1000))
    await asyncio.sleep(0)
    assert len(log) == 100


async def test_a_turn_that_is_over_is_over_for_all(clock):
    log, queue = [], FairQueue()
    queue.ready(Client("a", clock, log, takes=fairness.TURN_S))
    queue.ready(Client("b", clock, log))
    assert log == ["a"]
    await all_served()
    assert log == ["a", "b"]


async def test_an_ordinary_client_waits_for_one_request_however_many_flood(clock):
    log, queue = [], FairQueue()
    flood = [Client("flood", clock, log, requests=1000, takes=0.004) for _ in range(200)]
    for client in flood:
        queue.ready(client)
    for _ in range(100):
        await asyncio.sleep(0)
    for _ in range(20):
        log.clear()
        ordinary = Client("ordinary", clock, log, takes=0.001)
        queue.ready(ordinary)
        await asyncio.sleep(0)
        assert log[0] == "ordinary" or log[:2] == ["flood", "ordinary"]


async def test_those_who_flood_get_the_same_time_each(clock):
    log, queue = [], FairQueue()
    queue.ready(Client("long", clock, log, requests=10_000, takes=0.009))
    queue.ready(Client("short", clock, log, requests=10_000, takes=0.003))
    for _ in range(400):
        await asyncio.sleep(0)
    assert log.count("short") == pytest.approx(3 * log.count("long"), rel=0.05)


async def test_who_was_idle_has_saved_up_little(clock):
    log, queue = [], FairQueue()
    idle = Client("idle", clock, log, requests=1, takes=0.003)
    queue.ready(idle)
    busy = Client("busy", clock, log, requests=10_000, takes=0.003)
    queue.ready(busy)
    for _ in range(300):
        await asyncio.sleep(0)
    log.clear()
    idle.requests = 10_000
    queue.ready(idle)
    for _ in range(400):
        await asyncio.sleep(0)
    assert 0 < log.count("idle") - log.count("busy") <= fairness.CREDIT_S / 0.003 + 2


async def test_who_is_served_or_waits_is_there_once(clock):
    log, queue = [], FairQueue()

    class Eager(Client):
        def serve(self):
            queue.ready(self)
            return super().serve()

    client = Eager("a", clock, log, requests=3, takes=fairness.TURN_S)
    queue.ready(client)
    queue.ready(client)
    await all_served()
    assert log == ["a"] * 3


async def test_one_that_fails_stops_nobody(clock):
    log, queue = [], FairQueue()
    failed = []
    asyncio.get_running_loop().set_exception_handler(lambda _, context: failed.append(context["exception"]))

    class Broken(Client):
        def serve(self):
            raise RuntimeError("broken")

    queue.ready(Client("a", clock, log, takes=fairness.TURN_S))
    queue.ready(Broken("b", clock, log))
    queue.ready(Client("c", clock, log))
    await all_served()
    assert log == ["a", "c"]
    assert [str(error) for error in failed] == ["broken"]


def connect_with_requests(address, requests):
    """A blocking connection that sends so many requests at once and reads nothing."""
    connection = socket.create_connection(address)
    connection.sendall(b"".join(map(api_versions_request, range(requests))))
    return connection


def reset(connection):
    """End a connection by RST, as one whose client was killed."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


async def a_pass():
    await asyncio.sleep(0)


async def passes_until(condition):
    """Let the loop run until the condition holds."""
    async with asyncio.timeout(120):
        while not condition():
            await a_pass()


@pytest.mark.parametrize(
    "new_loop", [asyncio.new_event_loop, uvloop.new_event_loop], ids=["asyncio", "uvloop"]
)
def test_of_what_two_hundred_dead_clients_asked_for_a_request_each_is_served(broker, monkeypatch, new_loop):
    """Counted in requests: 1,800 of each client's lie in the broker's memory when all of them die."""
    monkeypatch.setattr(fairness, "TURN_S", 1e-9)
    clients, requests, served = 200, 1_800, Counter()

    def counted(context, request):
        served[request.correlation_id] += 1
        return api_versions.handle(context, request)

    async def whole():
        quotas = ConnectionQuotas(lambda: ConnectionLimits(clients), 100_000)
        listener = ClientListener(broker.context, quotas, "PLAINTEXT", {ApiKey.API_VERSIONS: counted})
        bound = socket.create_server(("127.0.0.1", 0), backlog=clients)
        bound.settimeout(0)
        address = bound.getsockname()
        listener.start_on(bound)
        connections = [connect_with_requests(address, requests) for _ in range(clients)]
        await passes_until(lambda: served[0] == clients)
        before = served.total()
        for each in connections:
            reset(each)
        await passes_until(lambda: not listener.connection_count)
        await listener.stop()
        return before, served.total() - before

    with asyncio.Runner(loop_factory=new_loop) as runner:
        before, after = runner.run(whole())
    # Each had its first request, and few had many more.
    assert before < clients * requests / 10
    # The answer to the next one tells the broker that the client is dead.
    assert after <= 2 * clients
