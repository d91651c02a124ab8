"""The protocol over real loopback sockets: order, pipelining, back-pressure and what closes a connection."""

from __future__ import annotations

import asyncio
import dataclasses
import itertools
import struct

import pytest
from kio.serial import entity_reader
from structlog.testing import capture_logs

from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.replicas.interface import Appended, Fetched
from barnabas.broker.server import fairness
from barnabas.broker.server.handlers import produce
from barnabas.broker.server.network import connection
from barnabas.broker.server.network import pipeline as pipeline_module
from barnabas.broker.wire.schemas import RESPONSE, load_schema
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime import line_limit
from barnabas.cluster.runtime import turn as turn_module
from barnabas.cluster.runtime.line_limit import LINES_PER_WINDOW
from tests.unit.broker.server.raw_client import sized

ORDERS_0 = TopicPartition("orders", 0)


async def a_moment():
    await asyncio.sleep(0.001)


async def until(condition):
    async with asyncio.timeout(60):
        while not condition():
            await a_moment()


async def test_answers_come_in_the_order_of_the_requests(connect):
    client = await connect()
    client.send(*(client.api_versions(number) for number in range(50)))
    assert await client.correlation_ids(50) == list(range(50))


async def test_a_request_that_comes_in_byte_by_byte_is_answered(connect):
    client = await connect()
    for byte in client.api_versions(3):
        client.send(bytes([byte]))
        await client.writer.drain()
        await asyncio.sleep(0)
    assert await client.correlation_ids(1) == [3]


async def test_pipelined_produces_are_appended_before_the_first_is_answered(broker, connect):
    broker.appends.hold = True
    client = await connect()
    client.send(*(client.produce(number, b"%d" % number) for number in range(5)))
    await until(lambda: len(broker.appends.calls) == 5)
    assert [batches[ORDERS_0] for batches, _ in broker.appends.calls] == [b"0", b"1", b"2", b"3", b"4"]
    for number in (4, 2, 0, 1, 3):
        broker.appends.release(number)
    assert await client.correlation_ids(5) == [0, 1, 2, 3, 4]


async def test_another_request_waits_for_the_produces_before_it(broker, connect):
    broker.appends.hold = True
    client = await connect()
    client.send(client.produce(1), client.fetch(2), client.produce(3))
    await until(lambda: broker.appends.calls)
    assert broker.reads.calls == []
    broker.appends.release(0)
    assert await client.correlation_ids(2) == [1, 2]
    await until(lambda: len(broker.appends.calls) == 2)
    broker.appends.release(1)
    assert await client.correlation_ids(1) == [3]


async def test_a_produce_waits_for_the_fetch_before_it(broker, connect):
    broker.reads.hold = True
    client = await connect()
    client.send(client.fetch(1), client.produce(2))
    await until(lambda: broker.reads.held is not None)
    assert broker.appends.calls == []
    broker.reads.held.set_result({ORDERS_0: Fetched(ErrorCode.NONE)})
    assert await client.correlation_ids(2) == [1, 2]


async def test_no_more_than_so_many_produces_are_taken_ahead(broker, connect, monkeypatch):
    monkeypatch.setattr(pipeline_module, "MAX_IN_FLIGHT", 3)
    broker.appends.hold = True
    client = await connect()
    client.send(*(client.produce(number) for number in range(10)))
    await until(lambda: len(broker.appends.calls) == 3)
    broker.appends.release(0)
    assert await client.correlation_ids(1) == [0]
    await until(lambda: len(broker.appends.calls) == 4)
    broker.appends.hold = False
    for number in (1, 2, 3):
        broker.appends.release(number)
    assert await client.correlation_ids(9) == list(range(1, 10))


async def test_a_client_that_reads_nothing_is_not_served_without_end(broker, connect):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, bytes(4_000_000), 10, 10, 0)
    client = await connect()
    client.send(*(client.fetch(number) for number in range(20)))
    await until(lambda: len(broker.reads.calls) >= 1)
    for _ in range(50):
        await asyncio.sleep(0)
    assert len(broker.reads.calls) < 20
    assert sent_answers(broker) < len(broker.reads.calls)
    assert await client.correlation_ids(20) == list(range(20))
    await until(lambda: sent_answers(broker) == 20)


def sent_answers(broker):
    """The Fetch requests whose answers the socket took."""
    registry = broker.meter._metrics.registry
    name = "kafka_network_RequestMetrics_ResponseSendTimeMs_count"
    return registry.get_sample_value(name, {"request": "Fetch"}) or 0


async def test_a_large_fetch_arrives_whole(broker, connect):
    records = bytes(range(256)) * 20_000
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, records, 10, 10, 0)
    client = await connect()
    client.send(client.fetch(1))
    data = await client.answer()
    read, _ = entity_reader(load_schema(1, 4, RESPONSE))(data, 4)
    assert read.responses[0].partitions[0].records == records


async def test_a_produce_without_acks_gets_no_answer(broker, connect):
    client = await connect()
    client.send(client.produce(1, acks=0), client.api_versions(2))
    assert await client.correlation_ids(1) == [2]
    assert len(broker.appends.calls) == 1


async def test_a_produce_without_acks_that_fails_closes_the_connection(broker, connect):
    broker.appends.outcomes[ORDERS_0] = Appended(ErrorCode.NOT_LEADER_OR_FOLLOWER)
    client = await connect()
    with capture_logs() as lines:
        client.send(client.produce(1, acks=0), client.api_versions(2))
        assert await client.is_closed()
    (line,) = lines
    assert (line["partition"], line["error"]) == ("orders-0", "NOT_LEADER_OR_FOLLOWER")


@pytest.mark.parametrize("version", [4, 99, -1])
async def test_api_versions_of_an_unknown_version_is_answered_in_version_0(connect, version):
    client = await connect()
    client.send(sized(struct.pack(">hhi", 18, version, 5) + b"whatever"), client.api_versions(6))
    data = await client.answer()
    assert data[:6] == struct.pack(">ih", 5, ErrorCode.UNSUPPORTED_VERSION)
    read, used = entity_reader(load_schema(18, 0, RESPONSE))(data, 4)
    assert 4 + used == len(data)
    assert [(row.api_key, row.min_version, row.max_version) for row in read.api_keys] == [(18, 0, 3)]
    assert await client.correlation_ids(1) == [6]


@pytest.mark.parametrize(
    "frame",
    [
        sized(struct.pack(">hhih", 0, 2, 1, -1)),
        sized(struct.pack(">hhih", 1, 13, 1, -1)),
        sized(struct.pack(">hhih", 9999, 0, 1, -1)),
        sized(struct.pack(">hhih", 3, 9, 1, -1) + b"\x00\xff\xff\xff\xff\x7f"),
        sized(b"short"),
        sized(b""),
        struct.pack(">i", -1),
        struct.pack(">i", 2**31 - 1),
        b"GET / HTTP/1.1\r\n\r\n",
    ],
    ids=[
        "an old produce",
        "a new fetch",
        "an unknown api",
        "hostile",
        "short",
        "empty",
        "negative",
        "huge",
        "http",
    ],
)
async def test_what_is_no_request_closes_its_connection_and_no_other(connect, frame):
    client, other = await connect(), await connect()
    with capture_logs() as lines:
        client.send(frame)
        assert await client.is_closed()
    (line,) = lines
    assert line["event"] == "closing a client connection"
    assert line["peer"].startswith("127.0.0.1:")
    other.send(other.api_versions(1))
    assert await other.correlation_ids(1) == [1]


async def test_junk_without_end_is_a_few_lines_and_a_count(connect):
    with capture_logs() as lines:
        for _ in range(3 * LINES_PER_WINDOW):
            client = await connect()
            client.send(b"\0\0\0\1x")
            assert await client.is_closed()
        assert len(lines) == LINES_PER_WINDOW
        line_limit.LINES.log_suppressed(at_the_end=True)
    assert lines[-1]["event"] == (
        "Suppressed 20 more lines of the kind: closing a client connection: a frame that is no Kafka request"
    )


async def test_a_handler_that_fails_closes_its_connection_and_no_other(broker, connect):
    client, other = await connect(), await connect()
    broker.reads.fetched[ORDERS_0] = None
    with capture_logs() as lines:
        client.send(client.fetch(1))
        assert await client.is_closed()
    (line,) = lines
    assert (line["log_level"], line["api"]) == ("error", "FETCH")
    other.send(other.api_versions(1))
    assert await other.correlation_ids(1) == [1]


async def test_a_handler_that_fails_later_closes_its_connection(broker, connect):
    broker.appends.hold = True
    broker.appends.outcomes[ORDERS_0] = None
    client = await connect()
    with capture_logs() as lines:
        client.send(client.produce(1))
        await until(lambda: broker.appends.held)
        broker.appends.release(0)
        assert await client.is_closed()
    assert [line["log_level"] for line in lines] == ["error"]


async def test_nobody_waits_for_a_client_that_has_gone(broker, connect):
    broker.reads.hold = True
    client = await connect()
    client.send(client.fetch(1))
    await until(lambda: broker.reads.held is not None)
    client.writer.transport.abort()
    await until(broker.reads.held.cancelled)


async def test_a_frame_up_to_the_limit_is_taken_and_one_byte_more_is_not(broker, connect):
    broker.settings = dataclasses.replace(broker.settings, request_max_bytes=100_000)
    client = await connect()
    overhead = len(client.produce(1)) - 4 - 1
    # The length of the records takes three bytes where that of one byte took one.
    fits = client.produce(1, bytes(100_000 - overhead - 2))
    assert len(fits) == 4 + 100_000
    client.send(fits)
    assert await client.correlation_ids(1) == [1]
    client.send(client.produce(2, bytes(100_000 - overhead - 1)))
    assert await client.is_closed()


async def test_the_loop_gets_its_turn_between_pipelined_requests(broker, connect, monkeypatch):
    monkeypatch.setattr(fairness, "TURN_S", 1e-9)
    client = await connect()
    turns = []

    async def count():
        while True:
            turns.append(len(broker.reads.calls))
            await asyncio.sleep(0)

    counting = asyncio.create_task(count())
    client.send(*(client.fetch(number) for number in range(50)))
    assert await client.correlation_ids(50) == list(range(50))
    counting.cancel()
    assert max(later - earlier for earlier, later in itertools.pairwise(turns)) == 1


async def test_records_that_cannot_be_read_any_more_end_the_answer(broker, connect):
    broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, FileRecords(lambda: -1, 0, 100_000), 10, 10, 0)
    client = await connect()
    with capture_logs() as lines:
        client.send(client.fetch(1))
        with pytest.raises(asyncio.IncompleteReadError):
            await client.answer()
    (line,) = lines
    assert line["reason"] == "the records of an answer cannot be read"


async def test_records_in_a_file_arrive_as_they_are(broker, connect, tmp_path):
    content = bytes(range(256)) * 20_000
    (tmp_path / "segment").write_bytes(content)
    with (tmp_path / "segment").open("rb") as file:
        records = FileRecords(file.fileno, 100, len(content) - 100)
        broker.reads.fetched[ORDERS_0] = Fetched(ErrorCode.NONE, records, 10, 10, 0)
        client = await connect()
        client.send(client.fetch(1))
        read, _ = entity_reader(load_schema(1, 4, RESPONSE))(await client.answer(), 4)
    assert read.responses[0].partitions[0].records == content[100:]


async def test_what_waited_in_the_socket_counts_as_sent_before(broker, connect, monkeypatch):
    """A connection is not read while a request waits in its buffer for the one before it."""
    now, paused, ready, long = [1000.0], [], asyncio.Event(), bytes(100_000)
    for module in (connection, produce):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])
    read = connection.ClientConnection._read

    def reading(self, *, wanted):
        read(self, wanted=wanted)
        if not wanted and self._input.received_bytes > len(long):
            paused.append(True)

    monkeypatch.setattr(connection.ClientConnection, "_read", reading)

    async def prepared(batches):
        await ready.wait()
        return batches

    broker.appends.preparing = [prepared]
    client = await connect()
    client.send(client.produce(1, b"1"), client.produce(2, long))
    await until(lambda: paused)
    client.send(client.produce(3, long))
    now[0] += 31
    ready.set()
    assert await client.correlation_ids(3) == [1, 2, 3]
    assert [batches[ORDERS_0] for batches, _ in broker.appends.calls] == [b"1"]
    client.send(client.produce(4, b"4"))
    assert await client.correlation_ids(1) == [4]
    assert len(broker.appends.calls) == 2


async def test_what_waited_behind_a_begun_request_counts_as_sent_before(broker, connect, monkeypatch):
    """The first read ends within the third request."""
    now, ready = [1000.0], asyncio.Event()
    for module in (connection, produce):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])

    async def prepared(batches):
        await ready.wait()
        return batches

    broker.appends.preparing = [prepared]
    client = await connect()
    third, fourth = client.produce(3, b"3"), client.produce(4, b"4")
    client.send(client.produce(1, b"1"), client.produce(2, b"2"), third[:10])
    await until(lambda: not broker.appends.preparing)
    client.send(third[10:], fourth)
    now[0] += 31
    ready.set()
    assert await client.correlation_ids(4) == [1, 2, 3, 4]
    assert [batches[ORDERS_0] for batches, _ in broker.appends.calls] == [b"1"]


async def test_what_an_idle_client_sends_has_not_waited_in_the_socket(broker, connect, monkeypatch):
    """Its connection was paused for a moment, at an earlier request."""
    now, ready = [1000.0], asyncio.Event()
    for module in (connection, produce):
        monkeypatch.setattr(module, "monotonic", lambda: now[0])

    async def prepared(batches):
        await ready.wait()
        return batches

    broker.appends.preparing = [prepared]
    client = await connect()
    client.send(client.produce(1, b"1"), client.produce(2, b"2"))
    ready.set()
    assert await client.correlation_ids(2) == [1, 2]
    now[0] += 31
    client.send(client.produce(3, b"3"))
    assert await client.correlation_ids(1) == [3]
    assert [batches[ORDERS_0] for batches, _ in broker.appends.calls] == [b"1", b"2", b"3"]


async def test_no_request_starts_while_one_is_prepared_and_pipelining_goes_on_then(broker, connect):
    ready = asyncio.get_running_loop().create_future()

    async def prepared(batches):
        await ready
        return batches

    broker.appends.hold = True
    broker.appends.preparing = [prepared, None, None]
    client = await connect()
    client.send(*(client.produce(number, b"%d" % number) for number in range(3)))
    await until(lambda: len(broker.appends.preparing) == 2)
    for _ in range(5):
        await a_moment()
    assert broker.appends.calls == []
    ready.set_result(None)
    await until(lambda: len(broker.appends.calls) == 3)
    assert [batches[ORDERS_0] for batches, _ in broker.appends.calls] == [b"0", b"1", b"2"]
    for number in (2, 1, 0):
        broker.appends.release(number)
    assert await client.correlation_ids(3) == [0, 1, 2]


async def test_a_long_request_is_decoded_and_answered_in_turns_with_others(broker, connect, monkeypatch):
    monkeypatch.setattr(turn_module, "TURN_S", 0.0)
    loop = asyncio.get_running_loop()
    passes, ran_in = 0, {"decode_in_pieces": [], "encode_in_pieces": []}

    def count():
        nonlocal passes
        passes += 1
        loop.call_soon(count)

    def noted(name, real):
        def steps(*args, **more):
            work = real(*args, **more)
            while True:
                ran_in[name].append(passes)
                try:
                    next(work)
                except StopIteration as end:
                    return end.value
                yield

        return steps

    for name in ran_in:
        monkeypatch.setattr(pipeline_module, name, noted(name, getattr(pipeline_module, name)))
    count()
    client = await connect()
    # What comes in meanwhile must not overwrite the frame.
    client.send(client.end_offsets(1, 5_000), client.end_offsets(2, 3), client.api_versions(3))
    answers = [await client.answer() for _ in range(3)]
    assert [struct.unpack_from(">i", answer)[0] for answer in answers] == [1, 2, 3]
    response = entity_reader(load_schema(23, 4, RESPONSE))(answers[0], 5)[0]
    assert [end.partition for end in response.topics[0].partitions] == list(range(5_000))
    for in_passes in ran_in.values():
        # The first step is made at once, of whatever follows there is one in each pass.
        assert len(in_passes) > 20
        assert len(set(in_passes)) >= len(in_passes) - 2


async def test_a_long_frame_that_is_no_request_closes_its_connection(connect):
    client = await connect()
    frame = client.end_offsets(1, 5_000)
    client.send(sized(frame[4:-9]))
    with capture_logs() as lines:
        assert await client.is_closed()
    assert [line["reason"] for line in lines] == ["a frame that is no Kafka request"]


async def test_what_a_handler_raises_of_a_long_request_closes_its_connection(broker, connect):
    client = await connect()
    broker.reads.end_offset_for = None
    client.send(client.end_offsets(1, 5_000))
    with capture_logs() as lines:
        assert await client.is_closed()
    assert [line["event"] for line in lines] == ["a request handler failed"]


@pytest.mark.parametrize(
    ("peername", "expected"),
    [
        (("::1", 40_000, 0, 0), ("0:0:0:0:0:0:0:1", "0:0:0:0:0:0:0:1:40000")),
        (("::ffff:127.0.0.1", 40_000, 0, 0), ("127.0.0.1", "127.0.0.1:40000")),
        (("10.0.0.7", 40_000), ("10.0.0.7", "10.0.0.7:40000")),
        ("", ("", "")),
    ],
)
def test_the_address_of_a_client_has_the_form_of_java(peername, expected):
    assert connection._peer(peername) == expected
