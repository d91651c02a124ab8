"""The two accounts alone, and what connections do with them over real sockets."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import gc
import socket
import struct
import weakref

import pytest
import uvloop
from structlog.testing import capture_logs

from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits
from barnabas.broker.replicas.interface import Fetched
from barnabas.broker.server.handlers.metadata import SHORT_ANSWER
from barnabas.broker.server.memory import AnswerMemory, ArrivingMemory, RequestMemory
from barnabas.broker.server.network import clients as clients_module
from barnabas.broker.server.network import connection as connection_module
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.network.connection import ClientConnection
from barnabas.broker.server.network.outgoing import Outgoing
from barnabas.broker.server.network.pipeline import RequestPipeline
from barnabas.broker.wire.receive import ReceiveBuffer
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from tests.unit.broker.server.network.test_connection import until
from tests.unit.broker.server.network.test_ends import reset
from tests.unit.broker.server.raw_client import Client, framed

ORDERS_0 = TopicPartition("orders", 0)
LONG = 200_000


async def test_a_request_gets_all_or_nothing_while_there_is_room():
    memory, woken = RequestMemory(100), []
    assert memory.take(99, lambda: None)
    assert memory.take(1000, lambda: None)  # as in Kafka: the bound is exceeded by one
    assert (memory.used, memory.available) == (1099, 0)
    assert not memory.take(1, lambda: woken.append(1))
    memory.give_back(1000)
    await asyncio.sleep(0)
    assert woken == [1]
    assert (memory.available, memory.waiting) == (1, 0)


async def test_who_waits_is_called_in_order_and_while_there_is_room_alone():
    memory, woken = RequestMemory(10), []
    assert memory.take(10, lambda: None)

    def taker(name):
        def on_room():
            woken.append(name)
            assert memory.take(10, on_room)

        return on_room

    takers = [taker(name) for name in "abc"]
    for each in takers:
        assert not memory.take(10, each)
    memory.forget(takers[1])
    memory.give_back(5)
    memory.give_back(5)
    await asyncio.sleep(0)
    assert woken == ["a"]
    memory.give_back(10)
    await asyncio.sleep(0)
    assert woken == ["a", "c"]


@pytest.mark.parametrize("size", [-1, 0])
def test_without_a_bound_there_is_always_room(size):
    memory = RequestMemory(size)
    assert not memory.is_bounded
    assert memory.take(10**12, lambda: None)
    assert memory.available == 2**63 - 1


class Holder:
    def __init__(self, memory):
        self.memory, self.is_evicted = memory, False

    def evict(self):
        self.is_evicted = True
        self.memory.holds(self, 0)  # as one does whose connection is lost


def test_who_has_read_nothing_for_the_longest_is_evicted():
    memory = AnswerMemory(100)
    a, b, c = (Holder(memory) for _ in range(3))
    memory.holds(a, 40)
    memory.holds(b, 40)
    memory.holds(a, 30)  # it reads
    memory.holds(c, 40)
    assert [each.is_evicted for each in (a, b, c)] == [False, True, False]
    assert memory.used == 70
    memory.holds(a, 0)
    memory.holds(c, 1000)
    assert not c.is_evicted  # it is alone
    memory.holds(a, 1)
    assert c.is_evicted
    assert memory.used == 1


@pytest.fixture
async def serve(broker, schema):
    """Connects to a listener, whose context may differ from the broker's."""
    listeners, writers, port = [], [], []

    async def connect(context):
        if not listeners:
            bound = socket.create_server(("127.0.0.1", 0))
            bound.settimeout(0)
            port.append(bound.getsockname()[1])
            listeners.append(
                ClientListener(context, ConnectionQuotas(lambda: ConnectionLimits(100), 10_000), "PLAINTEXT")
            )
            listeners[0].start_on(bound)
        reader, writer = await asyncio.open_connection("127.0.0.1", port[0])
        writers.append(writer)
        return Client(schema, reader, writer)

    yield connect
    for writer in writers:
        writer.close()
    for listener in listeners:
        await listener.stop()


@pytest.fixture
def bounded(broker):
    """Room for one long request."""
    broker.settings = dataclasses.replace(broker.settings, queued_max_request_bytes=LONG // 2)
    return broker.context


async def test_a_long_request_waits_for_the_one_that_fills_the_memory(broker, bounded, serve):
    first, second, third = [await serve(bounded) for _ in range(3)]
    frame = first.produce(1, bytes(LONG))
    first.send(frame[:-1])
    await until(lambda: bounded.requests.used)
    assert bounded.requests.used == len(frame)
    second.send(second.produce(2, bytes(LONG)), second.api_versions(3))
    await until(lambda: bounded.requests.waiting)
    third.send(third.api_versions(4))
    assert await third.correlation_ids(1) == [4]
    assert broker.appends.calls == []
    first.send(frame[-1:])
    assert await first.correlation_ids(1) == [1]
    assert await second.correlation_ids(2) == [2, 3]
    assert bounded.requests.used == 0


async def test_the_memory_of_a_client_that_dies_goes_to_the_next(bounded, serve):
    first, second = [await serve(bounded) for _ in range(2)]
    first.send(first.produce(1, bytes(LONG))[:-1])
    await until(lambda: bounded.requests.used)
    second.send(second.produce(2, bytes(LONG)))
    await until(lambda: bounded.requests.waiting)
    reset(first)
    assert await second.correlation_ids(1) == [2]
    assert bounded.requests.used == 0


async def test_what_is_written_gives_its_memory_back_before_it_is_answered(broker, bounded, serve):
    broker.appends.hold = True
    client = await serve(bounded)
    client.send(*(client.produce(number, bytes(LONG)) for number in range(3)))
    await until(lambda: len(broker.appends.calls) == 3)
    assert bounded.requests.used == 0
    for number in range(3):
        broker.appends.release(number)
    assert await client.correlation_ids(3) == [0, 1, 2]


async def test_a_long_frame_that_is_no_request_gives_its_memory_back(bounded, serve):
    client = await serve(bounded)
    with capture_logs():
        client.send(struct.pack(">ihhi", LONG, 1, 4, 1) + b"\xff" * (LONG - 8))
        assert await client.is_closed()
    assert bounded.requests.used == 0


async def test_a_client_that_reads_nothing_is_closed_for_the_answers_of_others(broker, serve):
    context = dataclasses.replace(broker.context, answers=AnswerMemory(20_000_000))
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, bytes(16_000_000), 10, 10, 0)
    first, second = [await serve(context) for _ in range(2)]
    with capture_logs() as lines:
        first.send(first.fetch(1))
        await until(lambda: context.answers.used)
        second.send(second.fetch(2))
        await until(lambda: lines)
    assert [line["reason"] for line in lines] == ["its answers wait while memory is short"]
    assert await second.correlation_ids(1) == [2]
    with pytest.raises((asyncio.IncompleteReadError, ConnectionResetError)):
        await first.answer()
    await until(lambda: not context.answers.used)


class Asked(asyncio.Semaphore):
    """Tells that somebody wants it."""

    def __init__(self, value):
        super().__init__(value)
        self.asked = asyncio.Event()

    async def acquire(self):
        self.asked.set()
        return await super().acquire()


async def test_a_long_answer_is_made_when_few_others_are_and_short_ones_pass(broker, serve, schema):
    def metadata(correlation_id, topic):
        s = schema(3, 4)
        body = s.request(topics=(s.MetadataRequestTopic(name=topic),), allow_auto_topic_creation=False)
        return framed(body, correlation_id)

    broker.topic("long", *[1] * SHORT_ANSWER)
    broker.topic("short", 1)
    building = Asked(0)
    context = dataclasses.replace(broker.context, building=building)
    long, short = [await serve(context) for _ in range(2)]
    long.send(metadata(1, "long"))
    async with asyncio.timeout(60):
        await building.asked.wait()
    short.send(metadata(2, "short"))
    assert await short.correlation_ids(1) == [2]
    building.release()
    assert await long.correlation_ids(1) == [1]


async def test_of_too_many_half_requests_the_one_goes_that_has_not_grown_for_the_longest(broker, serve):
    context = dataclasses.replace(broker.context, arriving=ArrivingMemory(3 * LONG))
    first, second, third = [await serve(context) for _ in range(3)]
    frame = first.produce(1, bytes(LONG))
    with capture_logs() as lines:
        for each in (first, second):
            held = context.arriving.used
            each.send(frame[:-2])
            await until(lambda held=held: context.arriving.used - held == len(frame))
        first.send(frame[-2:-1])
        await a_turn_of(first)
        third.send(frame[:-1])
        assert await second.is_closed()
    assert [line["reason"] for line in lines] == ["its request comes in while memory is short"]
    for each in (first, third):
        each.send(frame[-1:])
        assert await each.correlation_ids(1) == [1]


async def a_turn_of(client):
    """Returns when the broker has read what ``client`` has sent: both ends share this loop."""
    await client.writer.drain()
    for _ in range(20):
        await asyncio.sleep(0)


async def test_room_that_waits_for_the_next_long_request_is_given_back_first(broker, serve):
    context = dataclasses.replace(broker.context, arriving=ArrivingMemory(LONG))
    first, second = [await serve(context) for _ in range(2)]
    first.send(first.produce(1, bytes(LONG)))
    assert await first.correlation_ids(1) == [1]
    assert context.arriving.used > LONG
    frame = second.produce(1, bytes(LONG))
    second.send(frame[:-1])
    await until(lambda: context.arriving.used == len(frame))
    first.send(first.api_versions(2))
    assert await first.correlation_ids(1) == [2]
    second.send(frame[-1:])
    assert await second.correlation_ids(1) == [1]
    reset(second)
    await until(lambda: not context.arriving.used)


async def test_while_complete_requests_fill_the_memory_no_other_long_one_is_read(broker, serve):
    """Batches that are recompressed wait for each other: without a bound they would pile up."""
    context = dataclasses.replace(broker.context, started=RequestMemory(LONG // 2))
    first, second, third = [await serve(context) for _ in range(3)]
    may_end = asyncio.Event()

    async def prepared(batches):
        await may_end.wait()
        return batches

    broker.appends.preparing = [prepared, None]
    frame = first.produce(1, bytes(LONG))
    first.send(frame)
    await until(lambda: context.started.used)
    assert context.started.used == len(frame) - 4
    assert context.arriving.used == 0, "its buffer is free"
    second.send(second.produce(2, bytes(LONG)), second.api_versions(3))
    first.send(first.produce(4, bytes(LONG)))
    await until(lambda: context.started.waiting == 2)
    assert context.arriving.used == 0
    third.send(third.api_versions(5))
    assert await third.correlation_ids(1) == [5]
    assert broker.appends.calls == []
    may_end.set()
    assert await first.correlation_ids(2) == [1, 4]
    assert await second.correlation_ids(2) == [2, 3]
    assert (context.started.used, context.started.waiting) == (0, 0)


async def test_a_request_that_has_begun_to_arrive_is_read_to_its_end(broker, serve):
    """The memory that it has is taken already, and its client must not be closed for not going on."""
    context = dataclasses.replace(broker.context, started=RequestMemory(LONG // 2))
    first, second = [await serve(context) for _ in range(2)]
    frame = second.produce(2, bytes(LONG))
    second.send(frame[: LONG // 2])
    await until(lambda: context.arriving.used)

    async def prepared(batches):
        second.send(frame[LONG // 2 :])
        assert await second.correlation_ids(1) == [2]
        return batches

    broker.appends.preparing = [prepared, None]
    first.send(first.produce(1, bytes(LONG)))
    assert await first.correlation_ids(1) == [1]


async def test_the_memory_of_a_request_that_is_worked_on_is_free_when_its_client_goes(broker, serve):
    context = dataclasses.replace(broker.context, started=RequestMemory(LONG // 2))
    first, second = [await serve(context) for _ in range(2)]

    async def prepared(_batches):
        await asyncio.Event().wait()

    broker.appends.preparing = [prepared]
    first.send(first.produce(1, bytes(LONG)))
    await until(lambda: context.started.used)
    second.send(second.produce(2, bytes(LONG)))
    await until(lambda: context.started.waiting)
    reset(first)
    assert await second.correlation_ids(1) == [2]
    assert context.started.used == 0


class Alive:
    """What of the connections that were made is still in memory."""

    def __init__(self, monkeypatch):
        self._made = weakref.WeakSet()
        for kept in (ClientConnection, ReceiveBuffer, RequestPipeline, Outgoing):
            # A class of its own, because one with slots alone takes no weak references.
            noted = type(kept.__name__, (kept,), {"__init__": self._noting(kept)})
            for module in (connection_module, clients_module):
                if hasattr(module, kept.__name__):
                    monkeypatch.setattr(module, kept.__name__, noted)

    def _noting(self, kept):
        def init(made, *args, **options):
            self._made.add(made)
            kept.__init__(made, *args, **options)

        return init

    def names(self):
        return sorted(type(each).__name__ for each in self._made)


@contextlib.contextmanager
def no_collections():
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
@pytest.mark.parametrize("asked", ["a half frame", "nothing", "an answer that is not read", "a held fetch"])
def test_nothing_of_a_closed_connection_is_left_without_a_garbage_collection(
    broker, schema, monkeypatch, new_loop, asked
):
    alive = Alive(monkeypatch)
    broker.reads.hold = asked == "a held fetch"
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, bytes(16_000_000), 10, 10, 0)

    context = broker.context

    async def whole():
        bound = socket.create_server(("127.0.0.1", 0))
        bound.settimeout(0)
        listener = ClientListener(
            context, ConnectionQuotas(lambda: ConnectionLimits(100), 10_000), "PLAINTEXT"
        )
        listener.start_on(bound)
        reader, writer = await asyncio.open_connection(*bound.getsockname())
        client = Client(schema, reader, writer)
        client.send(client.api_versions(1))
        assert await client.correlation_ids(1) == [1]
        match asked:
            case "a half frame":
                client.send(client.produce(2, bytes(LONG))[:-1])
                await writer.drain()
            case "an answer that is not read":
                client.send(client.fetch(2))
                await until(lambda: context.answers.used)
            case "a held fetch":
                client.send(client.fetch(2))
                await until(lambda: broker.reads.held is not None)
        assert alive.names() == ["ClientConnection", "Outgoing", "ReceiveBuffer", "RequestPipeline"]
        reset(client)
        await until(lambda: not listener.connection_count)
        broker.reads.held = None
        for _ in range(10):
            await asyncio.sleep(0)
        assert alive.names() == []
        await listener.stop()

    with no_collections(), asyncio.Runner(loop_factory=new_loop) as runner:
        runner.run(whole())
