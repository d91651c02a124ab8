"""Compacted topics on real brokers: last values, and kills while the log is cleaned."""

from __future__ import annotations

import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from barnabas.broker.disk.names import files_with
from barnabas.local.waiting import wait_until
from tests.logged import logged
from tests.metadata import partitions_of

COMPACT = {"cleanup.policy": "compact", "segment.bytes": "5000", "min.cleanable.dirty.ratio": "0.01"}
KEYS = 20


@pytest.fixture(scope="module", autouse=True)
def topics(admin):
    """All topics of this module: once brokers are killed, a client may ask the wrong one for another."""
    settings = {"later": {**COMPACT, "cleanup.policy": "delete"}, "killed": COMPACT}
    new = [confluent_kafka.admin.NewTopic(name, 1, 3, config=config) for name, config in settings.items()]
    for created in admin.create_topics(new).values():
        created.result(90)


def produce(cluster, topic, numbers):
    """A record for each number; the key is the number modulo `KEYS`."""
    outcome = []
    settings = {"bootstrap.servers": cluster.bootstrap, "acks": "all", "batch.num.messages": 10}
    producer = confluent_kafka.Producer(settings)
    for number in numbers:
        key, value = b"%d" % (number % KEYS), b"%d" % number * 10
        producer.produce(topic, value, key, partition=0, on_delivery=lambda error, _: outcome.append(error))
    assert producer.flush(90) == 0
    assert outcome == [None] * len(numbers)


def last_values(cluster, topic):
    """What a consumer holds that has read from the beginning, and how many records that were."""
    consumer = kafka.KafkaConsumer(bootstrap_servers=cluster.bootstrap, group_id=None)
    tp = kafka.TopicPartition(topic, 0)
    consumer.assign([tp])
    consumer.seek_to_beginning(tp)
    end, held, count = consumer.end_offsets([tp])[tp], {}, 0
    while consumer.position(tp) < end:
        for message in consumer.poll(1000).get(tp, ()):
            held[message.key], count = message.value, count + 1
    consumer.close()
    return held, count


def expected(count):
    return {b"%d" % (number % KEYS): b"%d" % number * 10 for number in range(count)}


def checkpoint(broker, topic):
    """The broker's row of ``cleaner-offset-checkpoint``."""
    path = broker.dir / "data" / "cleaner-offset-checkpoint"
    rows = path.read_text().splitlines()[2:] if path.exists() else []
    return max((int(row.split()[2]) for row in rows if row.startswith(f"{topic} ")), default=0)


def sealed(broker, topic):
    """The base offset of the active segment."""
    return int(files_with(broker.dir / "data" / f"{topic}-0", ".log")[-1].name[:20])


def all_are_cleaned(cluster, topic):
    return all(checkpoint(each, topic) == sealed(each, topic) > 0 for each in cluster.brokers.values())


def test_a_topic_compacted_later_keeps_the_last_value_of_each_key_on_every_replica(cluster, admin):
    produce(cluster, "later", range(1_500))
    entry = ConfigEntry("cleanup.policy", "compact", incremental_operation=AlterConfigOpType.APPEND)
    resource = ConfigResource(ConfigResource.Type.TOPIC, "later", incremental_configs=[entry])
    admin.incremental_alter_configs([resource])[resource].result(90)
    wait_until(lambda: all_are_cleaned(cluster, "later"), "clean logs")
    held, count = last_values(cluster, "later")
    assert held == expected(1_500)
    assert count < 750
    for broker in cluster.brokers.values():
        assert broker.gauge("kafka_log_LogCleaner_cleaner_recopy_percent") < 50
        assert "Log cleaner thread 0 cleaned log later-0" in logged(broker.dir / "logs" / "server.log")
    producer = kafka.KafkaProducer(bootstrap_servers=cluster.bootstrap)
    with pytest.raises(kafka.errors.InvalidRecordError):
        producer.send("later", b"without a key").get(60)
    producer.close()
    produce(cluster, "later", range(KEYS))


def test_brokers_that_are_killed_while_they_clean_lose_nothing(cluster, admin):
    for start in range(0, 2_250, 750):
        produce(cluster, "killed", range(start, start + 750))
        broker = cluster.brokers[partitions_of(admin, "killed")[0].leader]
        cluster.kill(broker.id)
        cluster.restart(broker.id)
    wait_until(lambda: all_are_cleaned(cluster, "killed"), "clean logs")
    assert last_values(cluster, "killed")[0] == expected(2_250)
    for broker in cluster.brokers.values():
        assert not list((broker.dir / "data" / "killed-0").glob("*.swap"))
