"""Producer ids in a real cluster: whose blocks they come from, and that none is given twice."""

from __future__ import annotations

import json

import confluent_kafka
import pytest
from kazoo.client import KazooClient

from barnabas.broker.core.records.record_batch import HEADER_SIZE, parse_header
from barnabas.cluster.zk.schema.paths import PRODUCER_ID_BLOCK
from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer


@pytest.fixture
def lone_broker(tmp_path, zk_connect):
    with LocalCluster(tmp_path / "cluster", brokers=1, zookeeper=zk_connect) as running:
        yield running


@pytest.fixture
def zk(lone_broker):
    client = KazooClient(lone_broker.zookeeper_connect)
    client.start()
    yield client
    client.stop()
    client.close()


def write(bootstrap):
    """One record of a new idempotent producer."""
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    producer.produce("t", b"value", partition=0)
    assert producer.flush(20) == 0


def producers_of(cluster):
    """The producer id of each batch of the partition's first segment."""
    (path,) = cluster.brokers[1].dir.rglob("t-0/00000000000000000000.log")
    content, ids = path.read_bytes(), []
    while len(content) >= HEADER_SIZE:
        header = parse_header(content)
        ids.append((header.producer_id, header.producer_epoch, header.base_sequence))
        content = content[header.size :]
    return ids


def block(zk):
    return json.loads(zk.get(PRODUCER_ID_BLOCK)[0])


def test_each_life_of_a_broker_takes_a_block_and_gives_its_ids_in_order(lone_broker, zk):
    assert block(zk) == {"version": 1, "broker": 1, "block_start": "0", "block_end": "999"}
    Observer(lone_broker.bootstrap).create_topic("t", partitions=1, replication_factor=1)
    write(lone_broker.bootstrap)
    write(lone_broker.bootstrap)
    lone_broker.kill(1)
    lone_broker.restart(1)
    assert block(zk) == {"version": 1, "broker": 1, "block_start": "1000", "block_end": "1999"}
    write(lone_broker.bootstrap)
    assert producers_of(lone_broker) == [(0, 0, 0), (1, 0, 0), (1000, 0, 0)]
