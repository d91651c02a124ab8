"""Topics come, grow, go and come again, on real brokers: by API and by hand in ZooKeeper."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import time
from fnmatch import fnmatch

import kafka
import kafka.admin
import kafka.errors
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewPartitions, NewTopic
from kazoo.exceptions import NoNodeError

from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.metadata import metadata_of

OVERRIDES = {
    "zookeeper.session.timeout.ms": "3000",
    "auto.create.topics.enable": "false",
    "auto.leader.rebalance.enable": "false",
    "log.segment.delete.delay.ms": "100",
}
RACKS = {1: "a", 2: "a", 3: "b"}
DEADLINE_S = 60.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, new_chroot):
    directory = tmp_path_factory.mktemp("topics") / "cluster"
    local = LocalCluster(directory, overrides=OVERRIDES, zookeeper=new_chroot())
    for id_, broker in local.brokers.items():
        broker.own_settings["broker.rack"] = RACKS[id_]
    with local as running:
        yield running


@pytest.fixture
def admin(cluster):
    return AdminClient({"bootstrap.servers": cluster.bootstrap})


def directories(broker):
    """The names of all directories below a broker's, while it may be removing some (``rglob`` would fail)."""
    return [name for _, names, _ in os.walk(broker.directory) for name in names]


def logs(broker, topic):
    """The directories of a topic's logs on one broker, those that are being deleted included."""
    return sorted(name for name in directories(broker) if fnmatch(name, f"{topic}-*"))


def has_node(zk, topic):
    paths = ("/brokers/topics/", "/config/topics/", "/admin/delete_topics/")
    return any(zk.exists(path + topic) for path in paths)


def leaders(zk, topic, count):
    """The leader of each partition in ZooKeeper, or None where one has none yet."""
    found = []
    for number in range(count):
        with contextlib.suppress(NoNodeError):
            state = zk.get(f"/brokers/topics/{topic}/partitions/{number}/state")[0]
            found.append(json.loads(state)["leader"])
    return found if len(found) == count and -1 not in found else None


def create(admin, topic, partitions=2, **config):
    new = NewTopic(topic, num_partitions=partitions, replication_factor=3, config=config)
    admin.create_topics([new])[topic].result(DEADLINE_S)


def knows(broker, topic):
    """How many partitions of the topic one broker tells clients of."""
    client = AdminClient({"bootstrap.servers": broker.kafka, "log_level": 0})
    topics = metadata_of(client).topics
    return len(topics[topic].partitions) if topic in topics else 0


def write(cluster, topic, values):
    """Write to partition 0; the error of the first that was refused, or None."""
    refused = []
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "message.timeout.ms": 20_000}
    producer = Producer(settings)
    for value in values:
        producer.produce(topic, value, partition=0, callback=lambda e, _: refused.append(e) if e else None)
    assert producer.flush(30) == 0
    return refused[0] if refused else None


def read(cluster, topic, count):
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "test", "enable.auto.commit": False}
    consumer = Consumer(settings)
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count and time.monotonic() < deadline:
        message = consumer.poll(0.2)
        if message is not None and message.error() is None:
            found.append((message.offset(), message.value()))
    consumer.close()
    return found


def test_a_topic_grows_goes_and_can_be_made_again(cluster, zk, admin):
    create(admin, "orders")
    assert write(cluster, "orders", [b"a", b"b"]) is None
    admin.create_partitions([NewPartitions("orders", 5)])["orders"].result(DEADLINE_S)
    assert leaders(zk, "orders", 5) is not None
    assert len(json.loads(zk.get("/brokers/topics/orders")[0])["partitions"]) == 5
    with pytest.raises(KafkaException) as refusal:
        admin.create_partitions([NewPartitions("orders", 3)])["orders"].result(DEADLINE_S)
    assert refusal.value.args[0].code() == KafkaError.INVALID_PARTITIONS

    admin.delete_topics(["orders"], operation_timeout=30)["orders"].result(DEADLINE_S)
    wait_until(lambda: not has_node(zk, "orders"), "the end of the topic's nodes")
    for broker in cluster.brokers.values():
        wait_until(lambda broker=broker: knows(broker, "orders") == 0, "the end in the metadata")
        assert all(name.endswith("-delete") for name in logs(broker, "orders"))
    assert write(cluster, "orders", [b"lost"]).code() in (
        KafkaError._UNKNOWN_TOPIC,
        KafkaError._UNKNOWN_PARTITION,
        KafkaError.UNKNOWN_TOPIC_OR_PART,
        KafkaError._MSG_TIMED_OUT,
    )
    with pytest.raises(KafkaException) as unknown:
        admin.delete_topics(["orders"])["orders"].result(DEADLINE_S)
    assert unknown.value.args[0].code() == KafkaError.UNKNOWN_TOPIC_OR_PART

    create(admin, "orders", 1)
    assert write(cluster, "orders", [b"new"]) is None
    assert read(cluster, "orders", 1) == [(0, b"new")], "nothing of the topic that was deleted"


def test_replicas_are_spread_over_racks(cluster, zk):
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    try:
        told = {broker["broker_id"]: broker["rack"] for broker in admin.describe_cluster()["brokers"]}
        assert told == RACKS
        admin.create_topics([kafka.admin.NewTopic("spread", 8, 2)])
        admin.create_partitions({"spread": kafka.admin.NewPartitions(16)})
    finally:
        admin.close()
    placed = json.loads(zk.get("/brokers/topics/spread")[0])["partitions"]
    assert len(placed) == 16
    for replicas in placed.values():
        # Placed without regard to racks, a third of them would lie in rack a alone.
        assert {RACKS[broker] for broker in replicas} == {"a", "b"}
    assert {replicas[0] for replicas in placed.values()} == set(RACKS), "leaders are everywhere all the same"
    wait_until(lambda: leaders(zk, "spread", 16), "a leader of each partition")


def test_a_dead_broker_deletes_when_it_is_back_under_another_controller(cluster, zk, admin):
    create(admin, "late")
    controller = int(cluster.controller_id())
    dead = next(id_ for id_ in cluster.brokers if id_ != controller)
    cluster.kill(dead)
    wait_until(lambda: not zk.exists(f"/brokers/ids/{dead}"), "the end of the broker's session")
    admin.delete_topics(["late"], operation_timeout=30)["late"].result(DEADLINE_S)
    cluster.terminate(controller)
    cluster.restart(controller)
    wait_until(lambda: cluster.controller_id() not in (None, -1), "another controller")
    assert zk.exists("/admin/delete_topics/late"), "queued as long as a replica is left"
    assert [name for name in logs(cluster.brokers[dead], "late") if not name.endswith("-delete")] != []
    cluster.restart(dead)
    wait_until(lambda: not has_node(zk, "late"), "the end of the topic's nodes")
    for broker in cluster.brokers.values():
        assert all(name.endswith("-delete") for name in logs(broker, "late"))


def test_a_topic_is_made_extended_and_deleted_by_hand(cluster, zk):
    def body(*replicas):
        partitions = {str(number): list(ids) for number, ids in enumerate(replicas)}
        return json.dumps({"version": 1, "partitions": partitions}).encode()

    zk.create("/brokers/topics/hand", body([2, 3]))
    wait_until(lambda: leaders(zk, "hand", 1) == [2], "the leader of the topic")
    zk.set("/brokers/topics/hand", body([2, 3], [3, 1]))
    wait_until(lambda: leaders(zk, "hand", 2) == [2, 3], "the leader of the new partition")
    zk.create("/admin/delete_topics/hand", b"")
    zk.create("/admin/delete_topics/ghost", b"")
    wait_until(lambda: not has_node(zk, "hand"), "the end of the topic's nodes")
    wait_until(lambda: not zk.exists("/admin/delete_topics/ghost"), "the end of the mark of no topic")


def test_what_was_deleted_is_unlinked(cluster):
    """Last, because the brokers look for it every few seconds only."""

    def left():
        found = itertools.chain.from_iterable(map(directories, cluster.brokers.values()))
        return [name for name in found if name.endswith("-delete")]

    wait_until(lambda: not left(), "the end of the deleted logs")
