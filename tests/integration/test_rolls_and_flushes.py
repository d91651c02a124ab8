"""When segments roll and when logs are flushed, as brokers and topics say it, on a real broker.

What is flushed is told by the recovery point, which the broker writes down again and again; what is not, by a
checkpoint in which another log's recovery point has moved already.
"""

from __future__ import annotations

import itertools

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource

from barnabas.broker.disk.checkpoints import RECOVERY_POINT, read_offsets
from barnabas.broker.disk.names import files_with, offset_of
from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.waiting import wait_until

OVERRIDES = {
    "log.roll.hours": "1",
    "log.flush.scheduler.interval.ms": "100",
    # By default logs are flushed as often as it is looked whether they are to be.
    "log.flush.interval.ms": "86400000",
    "log.flush.offset.checkpoint.interval.ms": "100",
}
START, SECOND, MINUTE, HOUR = 1_700_000_000_000, 1_000, 60_000, 3_600_000
BROKER, TOPIC = ConfigResource.Type.BROKER, ConfigResource.Type.TOPIC


@pytest.fixture(scope="module")
def broker(request, shared_clusters):
    with shared_clusters.lent(request.session, OVERRIDES, brokers=1) as cluster:
        yield cluster.brokers[1]


@pytest.fixture(scope="module")
def admin(broker):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": broker.kafka})


def create(admin, name, **settings):
    # The records are of long ago, and shall stay.
    config = {"retention.ms": "-1"} | {key.replace("_", "."): value for key, value in settings.items()}
    admin.create_topics([confluent_kafka.admin.NewTopic(name, 1, 1, config=config)])[name].result(90)


def alter(admin, kind, name, key, value):
    """Set one setting, or have it no more where the value is None."""
    operation = AlterConfigOpType.DELETE if value is None else AlterConfigOpType.SET
    resource = ConfigResource(
        kind, name, incremental_configs=[ConfigEntry(key, value, incremental_operation=operation)]
    )
    admin.incremental_alter_configs([resource])[resource].result(90)


def write(broker, topic, *times):
    """A batch of one record for each of these times."""
    outcome = []
    producer = confluent_kafka.Producer({"bootstrap.servers": broker.kafka, "acks": "all"})
    for time in times or (START,):
        producer.produce(
            topic, b"x", partition=0, timestamp=time, on_delivery=lambda error, _: outcome.append(error)
        )
        assert producer.flush(60) == 0
    assert outcome == [None] * len(outcome)


def segments(broker, topic):
    """The base offsets of the topic's segments."""
    return [offset_of(path) for path in files_with(broker.dir / "data" / f"{topic}-0", ".log")]


def recovery_points(broker):
    """The recovery point of each topic's log, as last written down."""
    found = read_offsets(broker.dir / "data" / RECOVERY_POINT)
    return {tp.topic: offset for tp, offset in found.items() if tp == TopicPartition(tp.topic, 0)}


def is_flushed(broker, topic, up_to):
    wait_until(
        lambda: recovery_points(broker).get(topic) == up_to,
        f"{topic} flushed up to {up_to}",
        last=lambda: recovery_points(broker),
    )


def rolls_soon(broker, topic, first, step):
    """Records ``step`` apart, until one of them begins a segment."""
    before = segments(broker, topic)
    times = itertools.count(first, step)
    wait_until(
        lambda: write(broker, topic, next(times)) or segments(broker, topic) != before, f"{topic} rolled"
    )


def test_a_segment_holds_the_records_of_so_much_time(broker, admin):
    """By the records' own clock, so nobody has to wait."""
    create(admin, "hourly")
    write(broker, "hourly", START, START + HOUR, START + HOUR + 1, START + 2 * HOUR)
    assert segments(broker, "hourly") == [0, 2]
    create(admin, "by-the-minute", segment_ms="60000")
    write(broker, "by-the-minute", START, START + MINUTE, START + MINUTE + 1)
    assert segments(broker, "by-the-minute") == [0, 2]

    alter(admin, TOPIC, "hourly", "segment.ms", "1000")
    rolls_soon(broker, "hourly", START + 2 * HOUR, 2 * SECOND)

    create(admin, "following")
    write(broker, "following", START, START + MINUTE)
    alter(admin, BROKER, "1", "log.roll.ms", "10000")
    try:
        rolls_soon(broker, "following", START + MINUTE, 11 * SECOND)
        held = segments(broker, "by-the-minute")
        write(broker, "by-the-minute", START + MINUTE + 1 + 30 * SECOND)
        assert segments(broker, "by-the-minute") == held
    finally:
        alter(admin, BROKER, "1", "log.roll.ms", None)


def test_a_log_is_flushed_after_so_much_time(broker, admin):
    create(admin, "waiting")
    create(admin, "at-once", flush_ms="1")
    write(broker, "waiting", START)
    write(broker, "at-once", START, START)
    is_flushed(broker, "at-once", 2)
    assert recovery_points(broker)["waiting"] == 0
    alter(admin, TOPIC, "waiting", "flush.ms", "10")
    is_flushed(broker, "waiting", 1)

    create(admin, "waiting-too")
    write(broker, "waiting-too", START)
    write(broker, "at-once", START)
    is_flushed(broker, "at-once", 3)
    assert recovery_points(broker)["waiting-too"] == 0
    alter(admin, BROKER, "1", "log.flush.interval.ms", "10")
    try:
        is_flushed(broker, "waiting-too", 1)
    finally:
        alter(admin, BROKER, "1", "log.flush.interval.ms", None)
