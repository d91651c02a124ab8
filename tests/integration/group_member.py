"""A member of a consumer group as users write it, in a process of its own that a test can kill or pause.

``python group_member.py LIBRARY BOOTSTRAP TOPIC`` subscribes to a topic, in a group of the same name, and
commits each record after it has printed ``read PARTITION OFFSET``; once that commit is acknowledged it prints
``committed PARTITION OFFSET``, with the offset after the record.
"""

from __future__ import annotations

import asyncio
import sys

import aiokafka
import confluent_kafka
import kafka
from aiokafka.coordinator.assignors.range import RangePartitionAssignor as AiokafkaRange
from kafka.coordinator.assignors.range import RangePartitionAssignor as KafkaPythonRange

SESSION_MS = 6_000
HEARTBEAT_MS = 500


def tell(event, partition, offset):
    print(event, partition, offset, flush=True)


def with_confluent_kafka(bootstrap, topic):
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": topic,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": "range",
        "session.timeout.ms": SESSION_MS,
        "heartbeat.interval.ms": HEARTBEAT_MS,
        "log_level": 2,
    }
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe([topic])
    while True:
        message = consumer.poll(0.1)
        if message is None or message.error():
            continue
        tell("read", message.partition(), message.offset())
        try:
            consumer.commit(message, asynchronous=False)
        except confluent_kafka.KafkaException:
            continue  # the group rebalances; whoever gets the partition reads the record again
        tell("committed", message.partition(), message.offset() + 1)


def with_kafka_python(bootstrap, topic):
    consumer = kafka.KafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=[KafkaPythonRange],
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    for record in consumer:
        tell("read", record.partition, record.offset)
        try:
            consumer.commit()
        except kafka.errors.KafkaError:
            continue
        tell("committed", record.partition, record.offset + 1)


async def with_aiokafka(bootstrap, topic):
    consumer = aiokafka.AIOKafkaConsumer(
        topic,
        bootstrap_servers=bootstrap,
        group_id=topic,
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        partition_assignment_strategy=[AiokafkaRange],
        session_timeout_ms=SESSION_MS,
        heartbeat_interval_ms=HEARTBEAT_MS,
    )
    await consumer.start()
    async for record in consumer:
        tell("read", record.partition, record.offset)
        try:
            await consumer.commit()
        except aiokafka.errors.KafkaError:
            continue
        tell("committed", record.partition, record.offset + 1)


if __name__ == "__main__":
    library, bootstrap_servers, its_topic = sys.argv[1:]
    if library == "aiokafka":
        asyncio.run(with_aiokafka(bootstrap_servers, its_topic))
    elif library == "kafka-python":
        with_kafka_python(bootstrap_servers, its_topic)
    else:
        with_confluent_kafka(bootstrap_servers, its_topic)
