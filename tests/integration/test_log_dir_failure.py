"""A log directory fails: its replicas go offline and others lead, while the broker stays (KIP-112)."""

from __future__ import annotations

import time

import confluent_kafka
import confluent_kafka.admin
import pytest

from barnabas.cluster import LocalCluster

OVERRIDES = {
    "log.dirs": "data/one,data/two",
    "replica.high.watermark.checkpoint.interval.ms": "500",
    "num.partitions": "4",
    "default.replication.factor": "3",
}
TOPIC = "orders"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with LocalCluster(tmp_path_factory.mktemp("dirs") / "cluster", overrides=OVERRIDES) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def until(condition, what, deadline_s=30):
    """Poll, because the fact lies in another process."""
    deadline = time.monotonic() + deadline_s
    while not condition():
        assert time.monotonic() < deadline, what()
        time.sleep(0.1)


def partitions(admin):
    return admin.list_topics(TOPIC, timeout=20).topics[TOPIC].partitions


def in_directory(broker, name):
    """The partitions of the topic that lie in a log directory of a broker."""
    directory = broker.dir / "data" / name
    return {int(path.name.rpartition("-")[2]) for path in directory.glob(f"{TOPIC}-*")}


def produce_to_each(cluster):
    outcome = []
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(4):
        producer.produce(TOPIC, b"x", partition=number, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(60)
    return outcome


def test_others_lead_what_lay_there_and_the_broker_stays(cluster, admin):
    topic = confluent_kafka.admin.NewTopic(TOPIC, 4, 3)
    admin.create_topics([topic])[TOPIC].result(30)
    until(lambda: TOPIC in admin.list_topics(timeout=10).topics, lambda: "unknown")
    assert produce_to_each(cluster) == [None] * 4
    broker = cluster.brokers[partitions(admin)[0].leader]
    one, two = in_directory(broker, "one"), in_directory(broker, "two")
    assert len(one) == len(two) == 2
    name, gone, kept = ("one", one, two) if 0 in one else ("two", two, one)
    pid = broker.pid
    led = {number for number, p in partitions(admin).items() if p.leader == broker.id}

    (broker.dir / "data" / name).rename(broker.dir / "elsewhere")

    def is_moved():
        now = partitions(admin)
        return all(broker.id not in now[n].isrs and now[n].leader not in (-1, broker.id) for n in gone)

    until(is_moved, lambda: f"{gone} are still at broker {broker.id}: {partitions(admin)}")
    now = partitions(admin)
    assert all(broker.id in now[number].isrs for number in kept)
    assert {number for number in kept if now[number].leader == broker.id} == led & kept
    assert broker.pid == pid
    assert produce_to_each(cluster) == [None] * 4
    assert broker.gauge("kafka_log_LogManager_OfflineLogDirectoryCount") == 1

    # A start without the directory makes no empty log in the place of one that may lie there.
    (broker.dir / "data" / name).touch()
    cluster.terminate(broker.id)
    cluster.restart(broker.id)
    until(lambda: all(broker.id in partitions(admin)[n].isrs for n in kept), lambda: "not back in the ISR")
    assert in_directory(broker, "two" if name == "one" else "one") == kept
    assert not any(broker.id in partitions(admin)[number].isrs for number in gone)

    # With the directory back, so are its replicas.
    cluster.terminate(broker.id)
    (broker.dir / "data" / name).unlink()
    (broker.dir / "elsewhere").rename(broker.dir / "data" / name)
    cluster.restart(broker.id)
    until(
        lambda: all(broker.id in partition.isrs for partition in partitions(admin).values()),
        lambda: f"not back in every ISR: {partitions(admin)}",
    )
