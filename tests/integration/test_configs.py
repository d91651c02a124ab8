"""Settings altered while the cluster runs, by real clients on real processes."""

from __future__ import annotations

import time

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from barnabas.cluster import LocalCluster

TOPIC, BROKER = ConfigResource.Type.TOPIC, ConfigResource.Type.BROKER
SET, DELETE, APPEND = AlterConfigOpType.SET, AlterConfigOpType.DELETE, AlterConfigOpType.APPEND
OVERRIDES = {
    "log.dirs": "data/one,data/two",
    "replica.high.watermark.checkpoint.interval.ms": "500",
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster(tmp_path_factory.mktemp("configs") / "cluster", overrides=OVERRIDES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def until(condition, what, deadline_s=30):
    """Poll, because the fact lies in another process."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, what
        time.sleep(0.1)


def create(admin, name, partitions=1, **config):
    topic = confluent_kafka.admin.NewTopic(
        name, partitions, 3, config={key.replace("_", "."): value for key, value in config.items()}
    )
    admin.create_topics([topic])[name].result(30)
    until(lambda: name in admin.list_topics(timeout=10).topics, f"{name} is not known")


def incremental(admin, type_, name, *steps):
    entries = [ConfigEntry(key, value, incremental_operation=operation) for key, operation, value in steps]
    resource = ConfigResource(type_, name, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(30)


def described(admin, type_, name):
    resource = ConfigResource(type_, name)
    return admin.describe_configs([resource])[resource].result(30)


def produce(cluster, topic, value=b"x"):
    """Write one record with acks=all, once; the name of the error, or None."""
    outcome = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": cluster.bootstrap, "acks": "all", "retries": 0, "message.max.bytes": 10_000_000}
    )
    producer.produce(topic, value, on_delivery=lambda error, _: outcome.append(error and error.name()))
    producer.flush(30)
    return outcome[0]


def test_min_insync_replicas_holds_live(cluster, admin):
    create(admin, "durable", min_insync_replicas="2")
    assert produce(cluster, "durable") is None
    incremental(admin, TOPIC, "durable", ("min.insync.replicas", SET, "4"))
    until(lambda: produce(cluster, "durable") == "NOT_ENOUGH_REPLICAS", "still taken")
    told = described(admin, TOPIC, "durable")["min.insync.replicas"]
    assert (told.value, told.source) == ("4", 1)
    incremental(admin, TOPIC, "durable", ("min.insync.replicas", DELETE, None))
    until(lambda: produce(cluster, "durable") is None, "still refused")
