"""A segment is damaged on the disk of one replica: it is found, others lead, and it is fetched again."""

from __future__ import annotations

import re
import time

import confluent_kafka
import confluent_kafka.admin

from barnabas.broker.disk.names import files_with
from barnabas.local.waiting import wait_until
from tests.logged import logged
from tests.metadata import partitions_of

OVERRIDES = {"log.scrub.interval.ms": "300", "log.retention.check.interval.ms": "300000"}
RECORDS = 4_000
VALUE = bytes(range(1, 101))
DAMAGED = "kafka_log_LogManager_DamagedReplicaCount"


def fill(cluster, admin, topic, replicas):
    """A topic of one partition with `RECORDS` records in several segments."""
    config = {"segment.bytes": "100000", "retention.ms": "-1"}
    new = confluent_kafka.admin.NewTopic(topic, 1, replicas, config=config)
    admin.create_topics([new])[topic].result(90)
    outcome = []
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 20}
    producer = confluent_kafka.Producer(settings)
    for number in range(RECORDS):
        key = str(number).encode()
        producer.produce(topic, VALUE, key, partition=0, on_delivery=lambda error, _: outcome.append(error))
    assert producer.flush(90) == 0
    assert outcome == [None] * RECORDS


def segments(broker, topic):
    return files_with(broker.dir / "data" / f"{topic}-0", ".log")


def damage(path):
    """Put 20,000 zeros into the middle of a segment's file."""
    with path.open("r+b") as file:
        file.seek(30_000)
        file.write(bytes(20_000))


def errors_of(broker, topic):
    """What server.log says of the topic at ERROR."""
    lines = logged(broker.dir / "logs" / "server.log").splitlines()
    return [line for line in lines if f"partition={topic}-0" in line and "ERROR" in line]


def read_all(cluster, topic):
    """The offsets of the records that a consumer finds; it fails where it cannot have one of them."""
    settings = {
        "bootstrap.servers": cluster.bootstrap,
        "group.id": "unused",
        "enable.auto.commit": False,
        "check.crcs": True,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    offsets, deadline = [], time.monotonic() + 60
    while len(offsets) < RECORDS and time.monotonic() < deadline:
        offsets += [each.offset() for each in consumer.consume(500, timeout=1) if not each.error()]
    consumer.close()
    return offsets


def test_a_damaged_leader_hands_over_and_fetches_the_segment_again(cluster, admin):
    topic = "led"
    fill(cluster, admin, topic, 3)
    broker = cluster.brokers[partitions_of(admin, topic)[0].leader]
    path = segments(broker, topic)[1]
    sound = path.read_bytes()
    damage(path)
    wait_until(lambda: path.read_bytes() == sound, f"{path} as it was")
    wait_until(lambda: broker.gauge(DAMAGED) == 0, "no damaged replica")
    now = partitions_of(admin, topic)[0]
    assert now.leader not in {-1, broker.id}
    assert sorted(now.isrs) == [1, 2, 3]
    assert broker.gauge("kafka_log_LogManager_DamagedSegmentsPerSec_total") == 1
    found = errors_of(broker, topic)
    assert any(path.name in line and " byte " in line and " offsets " in line for line in found)
    assert read_all(cluster, topic) == list(range(RECORDS))


def test_a_sole_replica_keeps_what_it_has_and_serves_what_can_be_read(cluster, admin):
    topic = "alone"
    fill(cluster, admin, topic, 1)
    broker = cluster.brokers[partitions_of(admin, topic)[0].leader]
    path = segments(broker, topic)[1]
    damage(path)
    hurt = path.read_bytes()
    wait_until(lambda: broker.gauge(DAMAGED) == 1, "the damaged replica in the metric")
    first, last = lost(errors_of(broker, topic))
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": "unused", "enable.auto.commit": False}
    consumer = confluent_kafka.Consumer(settings | {"fetch.error.backoff.ms": 100})
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
    offsets, errors = [], []
    while not errors:
        (message,) = consumer.consume(1, timeout=60)
        (errors if message.error() else offsets).append(message.error() or message.offset())
    assert offsets == list(range(first))
    assert errors[0].code() == confluent_kafka.KafkaError.INVALID_MSG
    consumer.assign([confluent_kafka.TopicPartition(topic, 0, last + 1)])
    offsets = []
    while len(offsets) < RECORDS - last - 1:
        offsets += [each.offset() for each in consumer.consume(500, timeout=1) if not each.error()]
    consumer.close()
    assert offsets == list(range(last + 1, RECORDS))
    assert path.read_bytes() == hurt
    assert partitions_of(admin, topic)[0].leader == broker.id


def lost(errors):
    """The first and the last offset that a line says are lost."""
    (found,) = (re.search(r"offsets (\d+) to (\d+)", line) for line in errors if " offsets " in line)
    return int(found[1]), int(found[2])
