"""Clients that connect and say nothing, to a broker that may have few files open."""

from __future__ import annotations

import contextlib
import socket

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.local.place import HERE, Place
from barnabas.local.waiting import wait_until
from tests.logged import logged

LIMIT = 256
DEADLINE_S = 60.0
SEGMENT_BYTES = 16_384


@pytest.fixture
def cluster(tmp_path):
    """One broker that may have `LIMIT` files open."""
    limited = Place(HERE.host, ("/bin/sh", "-c", f'ulimit -n {LIMIT} && exec "$@"', "sh"))
    overrides = {"log.segment.bytes": str(SEGMENT_BYTES), "log.index.size.max.bytes": "4096"}
    with LocalCluster(
        tmp_path / "cluster", brokers=1, overrides=overrides, places={"broker-1": limited}
    ) as running:
        yield running


def write(producer, topic, count):
    """Write records that fill a segment each, and wait for them."""
    outcomes = []
    for _ in range(count):
        producer.produce(
            topic, bytes(SEGMENT_BYTES - 200), on_delivery=lambda error, _message: outcomes.append(error)
        )
        assert producer.flush(DEADLINE_S) == 0
    assert outcomes == [None] * count


def test_idle_connections_take_no_descriptor_that_logs_need(cluster):
    broker = cluster.brokers[1]
    Observer(cluster.bootstrap).create_topic("t", partitions=1, replication_factor=1)
    early = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "linger.ms": 0})
    write(early, "t", 1)
    host, port = broker.kafka.rsplit(":", 1)
    with contextlib.ExitStack() as stack:
        for _ in range(2 * LIMIT):
            stack.enter_context(socket.create_connection((host, int(port)), timeout=DEADLINE_S))
        # Each is a segment of its own, whose file has to be opened.
        write(early, "t", 30)
        assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 0
        assert broker.gauge("kafka_server_socket_server_metrics_connection_count") < LIMIT
    late = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    write(late, "t", 1)
    log = logged(broker.state_change_log.with_name("server.log"))
    assert "connections wait to be accepted" in log
    assert broker.exit_status is None
    segments = list((broker.directory / "data" / "t-0").glob("*.log"))
    assert len(segments) >= 30


def test_logs_leave_descriptors_to_clients_zookeeper_and_the_controller(cluster):
    broker = cluster.brokers[1]
    early = Observer(cluster.bootstrap)
    early.create_topic("t", partitions=1, replication_factor=1)
    log = broker.state_change_log.with_name("server.log")
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
    admin.create_topics([NewTopic("many", num_partitions=LIMIT, replication_factor=1)])["many"].result(60)
    wait_until(lambda: "Too many open files" in logged(log), "the logs to have all that they may")
    cluster.zookeeper.kill()
    wait_until(lambda: "The connection to ZooKeeper" in logged(log), "the end of the connection")
    cluster.zookeeper.start()
    late = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    write(late, "t", 1)
    assert early.delete_topic("many", timeout_s=DEADLINE_S)
    early.create_topic("after", partitions=20, replication_factor=1, timeout_s=DEADLINE_S)
    assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 0
