"""Clients that flood a real broker, or do not read what they asked for: it goes on, in bounded memory."""

from __future__ import annotations

import contextlib
import os
import re
import socket
import struct
import urllib.request

import confluent_kafka
import confluent_kafka.admin
import psutil
import pytest

from barnabas.bench.clients.abusers import init_producer_id, parked_fetch
from barnabas.broker.wire.apis import ApiKey
from barnabas.local.waiting import wait_until

TOPIC = "read"
RECORDS = 60
RECORD_BYTES = 900_000
READERS = 40
FLOODERS = 50
FLOOD = 1_800
GROWTH_BYTES = 50_000_000
WAITING = 500

METADATA_0 = struct.pack(">ihhihi", 14, ApiKey.METADATA, 0, 1, -1, 0)


def fetch_of_everything(correlation_id):
    """A Fetch of version 4 that asks for all there is."""
    body = struct.pack(">iiiib", -1, 0, 1, 2**31 - 1, 0) + struct.pack(">i", 1)
    body += struct.pack(">h", len(TOPIC)) + TOPIC.encode()
    body += struct.pack(">i", 1) + struct.pack(">iqi", 0, 0, 2**31 - 1)
    header = struct.pack(">hhih", ApiKey.FETCH, 4, correlation_id, -1)
    return struct.pack(">i", len(header) + len(body)) + header + body


@pytest.fixture(scope="module")
def broker(request, shared_clusters):
    with shared_clusters.lent(request.session, {}, brokers=1) as cluster:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        names = [TOPIC, *(f"topic-{number}" for number in range(200))]
        for made in admin.create_topics(
            [confluent_kafka.admin.NewTopic(name, 1, 1) for name in names]
        ).values():
            made.result(60)
        producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        value = os.urandom(RECORD_BYTES)
        for _ in range(RECORDS):
            producer.produce(TOPIC, value, partition=0)
            producer.poll(0)
        assert producer.flush(60) == 0
        yield cluster.brokers[1]


@pytest.fixture
def connect(broker):
    with contextlib.ExitStack() as all_of_them:

        def to():
            port = int(broker.kafka.rpartition(":")[2])
            return all_of_them.enter_context(socket.create_connection(("127.0.0.1", port), timeout=60))

        yield to


def receive(connection, size):
    data = bytearray()
    while len(data) < size:
        chunk = connection.recv(min(1 << 20, size - len(data)))
        if not chunk:
            raise ConnectionError(f"closed after {len(data)} of {size} bytes")
        data += chunk
    return data


def correlation_id_of_answer(connection):
    (size,) = struct.unpack(">i", receive(connection, 4))
    return struct.unpack_from(">i", receive(connection, size))[0]


def resident(broker):
    return psutil.Process(broker.pid).memory_info().rss


def test_readers_that_do_not_read_cost_next_to_nothing_and_get_all_in_the_end(broker, connect):
    first = connect()
    first.sendall(fetch_of_everything(0))
    assert correlation_id_of_answer(first) == 0
    before = resident(broker)
    readers = [connect() for _ in range(READERS)]
    for number, reader in enumerate(readers):
        reader.sendall(fetch_of_everything(number))
    for reader in readers:
        # The size of the answer has come, so the broker has begun it.
        assert struct.unpack(">i", receive(reader, 4))[0] > RECORDS * RECORD_BYTES / 2
    assert resident(broker) - before < GROWTH_BYTES
    # A client that was slow gets its answer whole all the same.
    last = connect()
    last.sendall(fetch_of_everything(77))
    assert correlation_id_of_answer(last) == 77


def waiting_fetches(broker):
    """The Fetch requests that wait in the purgatory."""
    with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=60) as answer:
        page = answer.read().decode()
    return float(re.search(r"NumDelayedOperations\{[^}]*Fetch[^}]*\} (\S+)", page, re.IGNORECASE)[1])


def test_fetches_that_wait_for_days_cost_little_and_end_with_their_clients(broker, connect):
    before = resident(broker)
    waiting = [connect() for _ in range(WAITING)]
    for client in waiting:
        client.sendall(parked_fetch("topic-7", 1))
    wait_until(lambda: waiting_fetches(broker) >= WAITING, "all fetches to wait")
    assert resident(broker) - before < WAITING * 40_000
    probe = connect()
    probe.sendall(METADATA_0)
    assert correlation_id_of_answer(probe) == 1
    for client in waiting:
        client.close()
    wait_until(lambda: waiting_fetches(broker) == 0, "the end of the fetches")


def test_a_flood_for_producer_ids_is_answered_in_bounded_memory(broker, connect):
    before = resident(broker)
    flood, probe = connect(), connect()
    flood.sendall(init_producer_id() * FLOOD)
    probe.sendall(METADATA_0)
    assert correlation_id_of_answer(probe) == 1
    # Error code, producer id and epoch end the answer.
    ids = {
        struct.unpack(">hqh", receive(flood, struct.unpack(">i", receive(flood, 4))[0])[-12:])[:2]
        for _ in range(FLOOD)
    }
    assert {error for error, _ in ids} == {0}
    assert len(ids) == FLOOD
    assert resident(broker) - before < GROWTH_BYTES


def metadata_served(broker):
    """The Metadata requests that the broker has answered."""
    with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=60) as answer:
        page = answer.read().decode()
    found = re.search(r'RequestsPerSec(?:_total)?\{request="Metadata"\} (\S+)', page, re.IGNORECASE)
    return float(found[1])


def test_what_clients_asked_for_that_are_gone_is_dropped(broker, connect):
    probe = connect()
    probe.sendall(METADATA_0)
    assert correlation_id_of_answer(probe) == 1
    before = metadata_served(broker)
    floods = [connect() for _ in range(FLOODERS)]
    for flood in floods:
        flood.sendall(METADATA_0 * FLOOD)
    for flood in floods:
        # An answer has come, so the broker has read requests.
        receive(flood, 1)
        flood.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        flood.close()
    port = int(broker.kafka.rpartition(":")[2])

    def no_flood_is_left():
        connections = psutil.Process(broker.pid).net_connections("tcp")
        established = [each for each in connections if each.status == psutil.CONN_ESTABLISHED]
        return sum(each.laddr.port == port for each in established) < FLOODERS

    wait_until(no_flood_is_left, "the end of the floods")
    probe.sendall(METADATA_0)
    assert correlation_id_of_answer(probe) == 1
    assert metadata_served(broker) - before < FLOODERS * FLOOD / 10
