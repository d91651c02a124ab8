"""What topics say of their logs, on real brokers: what is kept, how it is compressed and stamped."""

from __future__ import annotations

import asyncio
import itertools
import time
import urllib.request

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest
from confluent_kafka import KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from barnabas.broker.core.records.record_batch import Codec
from barnabas.local.waiting import wait_until
from tests.batches import whole_batches
from tests.metadata import partitions_of

CODECS = {
    "none": Codec.UNCOMPRESSED,
    "gzip": Codec.GZIP,
    "snappy": Codec.SNAPPY,
    "lz4": Codec.LZ4,
    "zstd": Codec.ZSTD,
}
VALUES = [b"%d, the castle is far, the village is near" % number * 50 for number in range(20)]
YEAR_MS = 365 * 24 * 60 * 60 * 1000


def create(admin, name, settings):
    topic = confluent_kafka.admin.NewTopic(name, 1, 3, config=settings)
    admin.create_topics([topic])[name].result(90)


def alter(admin, topic, **settings):
    entries = [
        ConfigEntry(name.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for name, value in settings.items()
    ]
    resource = ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result(90)


def produce(cluster, topic, values=VALUES, *, codec="none", timestamp=0):
    """Write the values, in few batches; the names of the errors."""
    if codec == "lz4":  # librdkafka compresses so only where FindCoordinator is announced
        asyncio.run(produce_by_aiokafka(cluster, topic, values, codec))
        return []
    outcome = []
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": cluster.bootstrap,
            "acks": "all",
            "linger.ms": 200,
            "compression.type": codec,
            "retries": 0,
        }
    )
    for value in values:
        producer.produce(
            topic, value, partition=0, timestamp=timestamp, on_delivery=lambda error, _: outcome.append(error)
        )
    producer.flush(60)
    assert len(outcome) == len(values)
    return [error.name() for error in outcome if error is not None]


async def produce_by_aiokafka(cluster, topic, values, codec):
    producer = aiokafka.AIOKafkaProducer(
        bootstrap_servers=cluster.bootstrap, compression_type=codec, acks="all", linger_ms=200
    )
    async with producer:
        sent = [await producer.send(topic, value, partition=0) for value in values]
        await asyncio.gather(*sent)


@pytest.fixture
def new_consumer(cluster):
    """Makes consumers; one that knew a leader that is dead takes its time to look for another."""
    made = []

    def new():
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "group.id": "none",
            "enable.auto.commit": False,
            "auto.offset.reset": "error",
            "check.crcs": True,
        }
        made.append(confluent_kafka.Consumer(settings))
        return made[-1]

    yield new
    for consumer in made:
        consumer.close()


@pytest.fixture
def consumer(new_consumer):
    return new_consumer()


def read(consumer, topic, count, offset=0):
    """That many records from ``offset`` on."""
    consumer.assign([TopicPartition(topic, 0, offset)])
    found = []

    def are_read():
        for message in consumer.consume(count - len(found), timeout=1):
            assert message.error() is None, message.error()
            found.append(message)
        return len(found) == count

    wait_until(are_read, f"{count} records of {topic}", last=lambda: found)
    return found


def led_by(admin, topic):
    return partitions_of(admin, topic)[0].leader


def watermarks(consumer, topic):
    """Log start offset and high watermark, or None where the leader does not know them yet."""
    try:
        return consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=60)
    except KafkaException as error:
        if not error.args[0].retriable():
            raise
        return None


def segments(cluster, topic):
    """The partition's files of batches at each broker; deleted ones too, until they are gone."""
    return [
        sorted(
            path.name.removeprefix("000000000000000") for path in (directory / f"{topic}-0").glob("*.log*")
        )
        for directory in (broker.dir / "data" for broker in cluster.brokers.values())
    ]


def on_disk(cluster, topic):
    """The bytes of the partition's first segment at each broker, where all have the same."""
    paths = [broker.dir / "data" / f"{topic}-0" / f"{0:020d}.log" for broker in cluster.brokers.values()]
    contents = [path.read_bytes() for path in paths]
    assert len(set(contents)) == 1
    return contents[0]


def codecs(cluster, topic):
    return {batch.header.codec_number for batch in whole_batches(on_disk(cluster, topic))}


def test_retention_that_is_shortened_moves_the_log_start(cluster, admin, consumer):
    create(admin, "retained", {"segment.bytes": "10000"})
    for _ in range(6):
        assert produce(cluster, "retained", VALUES[:4]) == []
    assert watermarks(consumer, "retained") == (0, 24)
    assert read(consumer, "retained", 24)[0].offset() == 0
    before = segments(cluster, "retained")
    assert len(before[0]) == 6

    alter(admin, "retained", retention_bytes="20000")
    wait_until(lambda: watermarks(consumer, "retained") == (12, 24), "the log from 12 on")
    wait_until(
        lambda: segments(cluster, "retained") == [before[0][3:]] * 3, "the same files on every replica"
    )

    alter(admin, "retained", retention_ms="1")
    wait_until(lambda: watermarks(consumer, "retained") == (24, 24), "the end of old records")
    wait_until(lambda: segments(cluster, "retained") == [["00024.log"]] * 3, "the end of old files")

    alter(admin, "retained", retention_ms=str(YEAR_MS))
    assert produce(cluster, "retained", VALUES[:4]) == []
    assert [message.offset() for message in read(consumer, "retained", 4, 24)] == [24, 25, 26, 27]
    consumer.assign([TopicPartition("retained", 0, 3)])
    heard = []
    wait_until(lambda: heard.append(consumer.poll(1)) or heard[-1] is not None, "an answer to the fetch")
    assert heard[-1].error().code() == KafkaError._AUTO_OFFSET_RESET
    assert "out of range" in heard[-1].error().str().lower()


def test_a_log_starts_where_it_started_after_a_failover(cluster, admin, consumer, new_consumer):
    create(admin, "moved", {"segment.bytes": "10000", "retention.bytes": "1"})
    for _ in range(4):
        assert produce(cluster, "moved", VALUES[:4]) == []
    wait_until(lambda: watermarks(consumer, "moved") == (12, 16), "the log from 12 on")
    leader = led_by(admin, "moved")
    wait_until(lambda: segments(cluster, "moved") == [["00012.log"]] * 3, "the same files on every replica")
    cluster.kill(leader)
    try:
        wait_until(lambda: led_by(admin, "moved") not in {leader, -1}, "another leader")
        other = new_consumer()
        # Its followers must have fetched before a new leader knows where the committed part ends.
        wait_until(lambda: watermarks(other, "moved") == (12, 16), "the log from 12 on at the new leader")
        assert len(read(other, "moved", 4, 12)) == 4
    finally:
        cluster.restart(leader)
        cluster.wait_ready()


def told_starts(cluster, topic):
    """The log start offset of partition 0 that each broker tells on its metrics page."""
    name = f'kafka_log_Log_LogStartOffset{{partition="0",topic="{topic}"}} '
    found = []
    for broker in cluster.brokers.values():
        with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        found += [float(line.removeprefix(name)) for line in lines if line.startswith(name)]
    return found


def test_records_are_deleted_at_every_replica_before_that_is_answered(cluster, admin, consumer):
    create(admin, "purged", {"segment.bytes": "10000"})
    for _ in range(4):
        assert produce(cluster, "purged", VALUES[:4]) == []
    assert len(segments(cluster, "purged")[0]) == 4

    def delete(offset):
        (asked,) = admin.delete_records([TopicPartition("purged", 0, offset)], request_timeout=60).values()
        return asked.result(60).low_watermark

    assert delete(9) == 9
    assert told_starts(cluster, "purged") == [9, 9, 9]
    assert watermarks(consumer, "purged") == (9, 16)
    assert read(consumer, "purged", 7, 9)[0].offset() == 9
    wait_until(
        lambda: segments(cluster, "purged") == [["00008.log", "00012.log"]] * 3, "the end of old files"
    )
    assert delete(3) == 9
    with pytest.raises(KafkaException) as refusal:
        delete(17)
    assert refusal.value.args[0].code() == KafkaError.OFFSET_OUT_OF_RANGE

    other = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    place = kafka.TopicPartition("purged", 0)
    assert other.delete_records({place: -1}, timeout_ms=60_000)[place]["low_watermark"] == 16
    other.close()
    assert told_starts(cluster, "purged") == [16, 16, 16]


@pytest.mark.parametrize("codec", CODECS)
def test_each_codec_is_kept_as_it_came(cluster, admin, consumer, codec):
    topic = f"from-{codec}"
    create(admin, topic, {})
    assert produce(cluster, topic, codec=codec) == []
    assert [message.value() for message in read(consumer, topic, len(VALUES))] == VALUES
    assert codecs(cluster, topic) == {CODECS[codec]}


@pytest.mark.parametrize("codec", ["none", "zstd"])  # tests/unit/broker/core/records has all
def test_a_codec_that_a_topic_asks_for(cluster, admin, consumer, codec):
    topic = f"to-{codec}"
    create(admin, topic, {"compression.type": "uncompressed" if codec == "none" else codec})
    everything = []
    for source in CODECS:
        assert produce(cluster, topic, codec=source) == []
        everything += VALUES
    found = read(consumer, topic, len(everything))
    assert [message.value() for message in found] == everything
    assert [message.offset() for message in found] == list(range(len(everything)))
    assert codecs(cluster, topic) == {CODECS[codec]}


def produce_by_kafka_python(cluster, topic, values, codec):
    producer = kafka.KafkaProducer(
        bootstrap_servers=cluster.bootstrap, compression_type=codec, acks="all", linger_ms=200
    )
    sent = [producer.send(topic, value, partition=0) for value in values]
    for each in sent:
        each.get(60)
    producer.close()


def read_by_kafka_python(cluster, topic, count):
    consumer = kafka.KafkaConsumer(bootstrap_servers=cluster.bootstrap, consumer_timeout_ms=60_000)
    place = kafka.TopicPartition(topic, 0)
    consumer.assign([place])
    consumer.seek_to_beginning(place)
    found = [record.value for record in itertools.islice(consumer, count)]
    consumer.close()
    return found


async def read_by_aiokafka(cluster, topic, count):
    async with aiokafka.AIOKafkaConsumer(bootstrap_servers=cluster.bootstrap) as consumer:
        place = aiokafka.TopicPartition(topic, 0)
        consumer.assign([place])
        await consumer.seek_to_beginning(place)
        return [(await consumer.getone()).value for _ in range(count)]


def test_what_one_client_compressed_by_lz4_the_others_read(cluster, admin, consumer):
    """Each library has an implementation of its own, and the broker has one, too."""
    kept, made = "lz4-of-clients", "lz4-of-brokers"
    create(admin, kept, {})
    create(admin, made, {"compression.type": "lz4"})
    asyncio.run(produce_by_aiokafka(cluster, kept, VALUES, "lz4"))
    produce_by_kafka_python(cluster, kept, VALUES, "lz4")
    assert produce(cluster, made, codec="none") == []
    produce_by_kafka_python(cluster, made, VALUES, "lz4")
    for topic in (kept, made):
        assert codecs(cluster, topic) == {Codec.LZ4}
        assert [message.value() for message in read(consumer, topic, 2 * len(VALUES))] == VALUES * 2
        assert read_by_kafka_python(cluster, topic, 2 * len(VALUES)) == VALUES * 2
        assert asyncio.run(read_by_aiokafka(cluster, topic, 2 * len(VALUES))) == VALUES * 2


def test_a_topic_changes_its_compression(cluster, admin, consumer):
    create(admin, "changed", {})
    assert produce(cluster, "changed", codec="lz4") == []
    assert codecs(cluster, "changed") == {Codec.LZ4}
    alter(admin, "changed", compression_type="zstd")
    counts = [len(VALUES)]

    def is_recompressed():
        assert produce(cluster, "changed", VALUES[:1], codec="gzip") == []
        counts.append(1)
        return Codec.ZSTD in codecs(cluster, "changed")

    wait_until(is_recompressed, "what is recompressed")
    expected = VALUES + VALUES[:1] * (len(counts) - 1)
    assert [message.value() for message in read(consumer, "changed", sum(counts))] == expected


def test_whose_clock_stamps_and_how_far_clients_may_be_off(cluster, admin, consumer):
    limits = {"message.timestamp.difference.max.ms": str(YEAR_MS), "retention.ms": "-1"}
    create(admin, "stamped", limits)
    now = time.time_ns() // 1_000_000
    assert produce(cluster, "stamped", VALUES[:1], timestamp=now - YEAR_MS // 2) == []
    assert produce(cluster, "stamped", VALUES[:1], timestamp=now - 2 * YEAR_MS) == ["INVALID_TIMESTAMP"]
    alter(admin, "stamped", message_timestamp_type="LogAppendTime")
    wait_until(
        lambda: produce(cluster, "stamped", VALUES[:1], timestamp=now - 2 * YEAR_MS) == [],
        "a stamp by the broker",
    )
    first, second = read(consumer, "stamped", 2)
    assert first.timestamp() == (confluent_kafka.TIMESTAMP_CREATE_TIME, now - YEAR_MS // 2)
    kind, stamped = second.timestamp()
    assert kind == confluent_kafka.TIMESTAMP_LOG_APPEND_TIME
    assert now <= stamped <= time.time_ns() // 1_000_000


def test_what_is_not_served_is_refused(admin):
    with pytest.raises(KafkaException) as refusal:
        create(admin, "not-served", {"message.format.version": "0.9.0"})
    assert refusal.value.args[0].code() == KafkaError.INVALID_CONFIG
    assert "it must be" in refusal.value.args[0].str()
