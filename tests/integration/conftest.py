"""What tests on real processes share."""

from __future__ import annotations

import io
import re
import socket
import struct

import confluent_kafka.admin
import pytest
from kazoo.client import KazooClient
from kio.serial import entity_reader, entity_writer

from barnabas.broker.wire.schemas import RESPONSE, load_schema
from tests.clusters import LOGS_AND_GROUPS
from tests.integration.groups import filled_topic


@pytest.fixture(scope="module")
def cluster(request, shared_clusters):
    """Three brokers, shared with all modules that name the same ``OVERRIDES``, or none, as this one."""
    overrides = getattr(request.module, "OVERRIDES", LOGS_AND_GROUPS)
    with shared_clusters.lent(request.session, overrides) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    """librdkafka's admin client of that cluster."""
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


@pytest.fixture
def fresh_admin(cluster):
    """An admin client that knows only brokers that run; that of the module may ask one that was killed."""
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


@pytest.fixture(scope="module")
def zk(cluster):
    """A client of the ZooKeeper of that cluster."""
    client = KazooClient(cluster.zookeeper_connect)
    client.start(60)
    yield client
    client.stop()
    client.close()


@pytest.fixture
def topic(cluster, fresh_admin, request):
    """A topic with records, named after the test; the test's group has its name."""
    name = re.sub("[^a-z.]+", ".", request.node.name.removeprefix("test_").lower()).strip(".")[:80]
    return filled_topic(cluster, fresh_admin, name)


@pytest.fixture
def members():
    """A list of members of a group, who are ended after the test."""
    started = []
    yield started
    for each in started:
        each.end()


def _exchanged(broker, body, source="127.0.0.1"):
    """The bytes that a broker answers to one request (kio's entity), over a connection of its own.

    It comes from the address ``source`` of this machine, by which ACLs may know it.
    """
    of = type(body)
    out = io.BytesIO()
    header = of.__header_schema__(
        request_api_key=of.__api_key__, request_api_version=of.__version__, correlation_id=7, client_id="test"
    )
    entity_writer(of.__header_schema__)(out, header)
    entity_writer(of)(out, body)
    frame = out.getvalue()
    host, port = broker.kafka.rsplit(":", 1)
    with (
        socket.create_connection((host, int(port)), timeout=60, source_address=(source, 0)) as connection,
        connection.makefile("rb") as file,
    ):
        connection.sendall(struct.pack(">i", len(frame)) + frame)
        (size,) = struct.unpack(">i", file.read(4))
        return memoryview(file.read(size))


def _answered(broker, body, source="127.0.0.1"):
    """What a broker answers to one request, past any client."""
    answer = _exchanged(broker, body, source)
    schema = load_schema(type(body).__api_key__, type(body).__version__, RESPONSE)
    _, at = entity_reader(schema.__header_schema__)(answer, 0)
    response, _ = entity_reader(schema)(answer, at)
    return response


@pytest.fixture(scope="session")
def answered():
    """Asks a broker in Kafka's protocol: ``answered(broker, request)``, both entities of kio."""
    return _answered


@pytest.fixture(scope="session")
def exchanged():
    """As ``answered``, for answers with numbers that kio cannot read: their bytes, behind the size."""
    return _exchanged
