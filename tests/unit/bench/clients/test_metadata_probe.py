from __future__ import annotations

import socket
import threading

import pytest
from confluent_kafka import Producer

from barnabas.bench.clients.metadata_probe import MetadataProbe

TOPIC = "t"


@pytest.fixture(scope="module")
def mock_broker():
    """A broker of librdkafka's own mock cluster, which creates the topics that are asked for."""
    owner = Producer({"test.mock.num.brokers": 1, "bootstrap.servers": "mock", "log_level": 2})
    known = owner.list_topics(TOPIC, timeout=5)
    (broker,) = known.brokers.values()
    yield f"{broker.host}:{broker.port}", len(known.topics[TOPIC].partitions)
    del owner


def test_the_leaders_a_broker_knows_are_counted(mock_broker):
    address, partitions = mock_broker
    with MetadataProbe(address) as probe:
        assert probe.leaders_known(TOPIC) == partitions > 0


def test_a_broker_that_hangs_up_is_an_error():
    with socket.create_server(("127.0.0.1", 0)) as server:
        host, port = server.getsockname()

        def hang_up():
            server.accept()[0].close()

        hanging = threading.Thread(target=hang_up)
        hanging.start()
        with MetadataProbe(f"{host}:{port}") as probe, pytest.raises(ConnectionError):
            probe.leaders_known(TOPIC)
        hanging.join()
