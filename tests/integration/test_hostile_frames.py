"""Random bytes and mutated requests on the client port of a real broker: it must live on and serve."""

from __future__ import annotations

import random
import socket
import struct
from itertools import product

import confluent_kafka
import confluent_kafka.admin
import pytest

from barnabas.broker.wire.apis import ApiKey
from barnabas.local.cluster import LocalCluster
from tests.integration.fuzz_handshake import (
    TOKENS,
    Handshakes,
    authenticate_request,
    handshakes,
    request,
    versions_request,
)
from tests.integration.hostile_requests import LAST, LAST_API_VERSIONS, TOPIC, mutated, sized, well_formed
from tests.logged import logged
from tests.unit.broker.server.gates.rows import versions

SEED = 20_260_101
MUTATED_FRAMES = 10_000
RANDOM_FRAMES = 500
PATIENCE_S = 0.25


class Client:
    """Sends one frame after the other, over one connection as long as the broker leaves it open."""

    def __init__(self, port):
        self._port = port
        self._connection = None

    def send(self, data):
        """Send, and then a request that every broker answers; read until that answer or in vain.

        Returns:
            Whether the last request was answered on this connection.
        """
        if self._connection is None:
            self._connection = socket.create_connection(("127.0.0.1", self._port), timeout=10)
        read = b""
        try:
            self._connection.sendall(data + LAST_API_VERSIONS)
            self._connection.settimeout(PATIENCE_S)
            while chunk := self._connection.recv(65_536):
                read += chunk
                if struct.pack(">i", LAST) in read:
                    return True
        except (TimeoutError, ConnectionError):
            pass
        self.close()
        return False

    def close(self):
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@pytest.fixture(scope="module")
def broker(tmp_path_factory, new_chroot):
    directory = tmp_path_factory.mktemp("hostile")
    # Topics that are named by chance shall not be created by the thousand.
    overrides = {"auto.create.topics.enable": "false"}
    with LocalCluster(directory, brokers=1, overrides=overrides, zookeeper=new_chroot()) as cluster:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([confluent_kafka.admin.NewTopic(TOPIC, 1, 1)])[TOPIC].result(90)
        yield cluster.brokers[1]


@pytest.fixture
def client(broker):
    connected = Client(int(broker.kafka.rpartition(":")[2]))
    yield connected
    connected.close()


def serves(broker):
    """Whether an ordinary client reads back what it writes."""
    said = []
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.kafka, "acks": "all"})
    producer.produce(
        TOPIC, b"still here", partition=0, on_delivery=lambda error, m: said.append((error, m.offset()))
    )
    assert producer.flush(90) == 0
    ((error, offset),) = said
    assert error is None
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": broker.kafka, "group.id": "judge", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, 0, offset)])
    message = consumer.poll(90)
    consumer.close()
    return message is not None and message.value() == b"still here"


def test_random_bytes_do_not_stop_a_broker(broker, client):
    pid = broker.pid
    rng = random.Random(SEED)
    for _ in range(RANDOM_FRAMES):
        frame = rng.randbytes(rng.randint(1, 2000))
        named = struct.pack(">hh", rng.randrange(30), rng.randrange(10)) + frame
        client.send(rng.choice((frame, sized(frame), sized(named))))
    assert broker.pid == pid
    assert serves(broker)


def test_ten_thousand_mutated_requests_do_not_stop_a_broker(broker, client):
    pid = broker.pid
    rng = random.Random(SEED)
    survived = sum(client.send(sized(mutated(rng, well_formed(rng)))) for _ in range(MUTATED_FRAMES))
    # Some are refused and some are not, or the mutations are no test.
    assert MUTATED_FRAMES / 10 < survived < MUTATED_FRAMES * 9 / 10
    assert broker.pid == pid
    assert serves(broker)
    assert "a request handler failed" not in logged(broker.dir / "logs" / "server.log")


async def test_unmutated_handshakes_of_every_version_authenticate():
    fed = Handshakes()
    for of_versions, of_tokens in product(versions(ApiKey.API_VERSIONS), versions(ApiKey.SASL_AUTHENTICATE)):
        frames = [
            versions_request(of_versions),
            request(ApiKey.SASL_HANDSHAKE, 1, b"\0\5PLAIN"),
            authenticate_request(of_tokens, TOKENS["PLAIN"][0]),
        ]
        assert fed.session(frames) == (3, False)
        assert fed.session([*frames[:2], authenticate_request(of_tokens, b"\0alice\0" + bytes(200))])[1]


def test_ten_thousand_mutated_handshakes_find_nothing():
    fuzz = handshakes(10_000, random.Random(SEED), None)
    assert not [fault for fault in fuzz.faults() if "hang" not in fault]
    assert fuzz.frames / 10 < fuzz.refused < fuzz.frames * 9 / 10
