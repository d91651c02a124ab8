"""A member of a consumer group as users write it, in a process of its own that a test can kill or pause.

``python group_member.py LIBRARY BOOTSTRAP TOPIC [NAME=VALUE…]`` subscribes to a topic, in a group of its
name. It prints ``assigned PARTITION…`` and ``revoked PARTITION…`` as the library reports. It commits each
record after it has printed ``read PARTITION OFFSET``; once that commit is acknowledged it prints ``committed
PARTITION OFFSET``, with the offset after the record. SIGINT closes the consumer.

Names: ``assignor`` (range, roundrobin, sticky or cooperative-sticky; each library has most of them),
``instance`` (``group.instance.id``), ``session_ms`` (``session.timeout.ms``), ``commit=auto`` (the library
commits, every `AUTO_COMMIT_MS` and when it is closed).
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import sys
import threading

import aiokafka
import confluent_kafka
import kafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from aiokafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as AiokafkaRoundRobin
from aiokafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as AiokafkaSticky
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange
from kafka.coordinator.assignors.roundrobin import RoundRobinPartitionAssignor as KafkaPythonRoundRobin
from kafka.coordinator.assignors.sticky.sticky_assignor import StickyPartitionAssignor as KafkaPythonSticky

SESSION_MS = 6_000
HEARTBEAT_MS = 500
AUTO_COMMIT_MS = 500
OF_KAFKA_PYTHON = {
    "range": KafkaPythonRange,
    "roundrobin": KafkaPythonRoundRobin,
    "sticky": KafkaPythonSticky,
    "cooperative-sticky": CooperativeStickyAssignor,
}
OF_AIOKAFKA = {"range": AiokafkaRange, "roundrobin": AiokafkaRoundRobin, "sticky": AiokafkaSticky}


STOPPING = threading.Event()


def tell(event, *numbers):
    # In one write: unbuffered, `print` writes word by word, and a kill may come between two.
    sys.stdout.write(" ".join([event, *map(str, numbers)]) + "\n")
    sys.stdout.flush()


def with_confluent_kafka(
    bootstrap, topic, *, assignor="range", instance=None, session_ms=SESSION_MS, commit="by hand"
):
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": commit == "auto",
        "auto.commit.interval.ms": AUTO_COMMIT_MS,
        "partition.assignment.strategy": assignor,
        "session.timeout.ms": session_ms,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "log_level": 2,
    }
    consumer = confluent_kafka.Consumer(settings | ({"group.instance.id": instance} if instance else {}))
    owed = {}

    def revoked(_, partitions):
        tell("revoked", *(each.partition for each in partitions))
        for each in partitions:
            owed.pop(each.partition, None)  # whoever gets the partition reads its records again

    consumer.subscribe(
        [topic],
        on_assign=lambda _, partitions: tell("assigned", *(each.partition for each in partitions)),
        on_revoke=revoked,
    )
    try:
        while not STOPPING.is_set():
            message = consumer.poll(0.1)
            if message is not None and not message.error():
                tell("read", message.partition(), message.offset())
                if commit != "auto":
                    owed[message.partition()] = message.offset() + 1
            for partition, offset in tuple(owed.items()):
                position = confluent_kafka.TopicPartition(topic, partition, offset)
                try:
                    consumer.commit(offsets=[position], asynchronous=False)
                except confluent_kafka.KafkaException:
                    break  # the group rebalances, and this member may keep the partition: again after a poll
                tell("committed", partition, offset)
                owed.pop(partition, None)
    finally:
        consumer.close()


class KafkaPythonListener(kafka.ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        tell("assigned", *(each.partition for each in assigned))

    def on_partitions_revoked(self, revoked):
        tell("revoked", *(each.partition for each in revoked))


def with_kafka_python(
    bootstrap, topic, *, assignor="range", instance=None, session_ms=SESSION_MS, commit="by hand"
):
    consumer = kafka.KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        group_instance_id=instance,
        auto_offset_reset="earliest",
        enable_auto_commit=commit == "auto",
        auto_commit_interval_ms=AUTO_COMMIT_MS,
        partition_assignment_strategy=[OF_KAFKA_PYTHON[assignor]],
        session_timeout_ms=int(session_ms),
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    consumer.subscribe([topic], listener=KafkaPythonListener())
    try:
        # Without a timeout, which may end a poll amid a JoinGroup: the next poll would send a second one.
        for record in consumer:
            tell("read", record.partition, record.offset)
            if commit == "auto":
                continue
            try:
                consumer.commit()
            except kafka.errors.KafkaError:
                continue
            tell("committed", record.partition, record.offset + 1)
    finally:
        consumer.close()


class AiokafkaListener(aiokafka.ConsumerRebalanceListener):
    def on_partitions_assigned(self, assigned):
        tell("assigned", *(each.partition for each in assigned))

    def on_partitions_revoked(self, revoked):
        tell("revoked", *(each.partition for each in revoked))


async def with_aiokafka(
    bootstrap, topic, *, assignor="range", instance=None, session_ms=SESSION_MS, commit="by hand"
):
    consumer = aiokafka.AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=topic,
        group_instance_id=instance,
        auto_offset_reset="earliest",
        enable_auto_commit=commit == "auto",
        auto_commit_interval_ms=AUTO_COMMIT_MS,
        partition_assignment_strategy=[OF_AIOKAFKA[assignor]],
        session_timeout_ms=int(session_ms),
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    consumer.subscribe([topic], listener=AiokafkaListener())
    await consumer.start()
    try:
        async for record in consumer:
            tell("read", record.partition, record.offset)
            if commit == "auto":
                continue
            try:
                await consumer.commit()
            except aiokafka.errors.KafkaError:
                continue
            tell("committed", record.partition, record.offset + 1)
    finally:
        await consumer.stop()


if __name__ == "__main__":
    library, bootstrap_servers, its_topic, *named = sys.argv[1:]
    options = dict(each.split("=") for each in named)
    if library == "confluent-kafka":
        signal.signal(signal.SIGINT, lambda _number, _frame: STOPPING.set())
        with_confluent_kafka(bootstrap_servers, its_topic, **options)
    else:
        # A process that a script started in the background ignores SIGINT, and so do its children.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        with contextlib.suppress(KeyboardInterrupt):
            if library == "aiokafka":
                asyncio.run(with_aiokafka(bootstrap_servers, its_topic, **options))
            else:
                with_kafka_python(bootstrap_servers, its_topic, **options)
