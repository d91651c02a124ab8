"""Properties of Java's clients as settings of librdkafka."""

from __future__ import annotations

import confluent_kafka

from barnabas.tools.clients.client_properties import for_librdkafka


def test_properties_are_renamed_and_those_without_use_are_left_out() -> None:
    assert for_librdkafka(
        {
            "acks": "1",
            "buffer.memory": "33554432",
            "key.serializer": "org.apache.kafka.common.serialization.StringSerializer",
            "send.buffer.bytes": "1000",
            "auto.offset.reset": "none",
            "partition.assignment.strategy": "org.apache.kafka.clients.consumer.RangeAssignor",
        }
    ) == {
        "acks": "1",
        "queue.buffering.max.kbytes": "32768",
        "socket.send.buffer.bytes": "1000",
        "auto.offset.reset": "error",
        "partition.assignment.strategy": "range",
    }
    assert for_librdkafka({"buffer.memory": "5"}) == {"queue.buffering.max.kbytes": "1"}


def test_librdkafka_takes_the_names() -> None:
    producer = {
        "max.request.size": "2000000",
        "receive.buffer.bytes": "1000",
        "delivery.timeout.ms": "5000",
        "request.timeout.ms": "1500",
        "linger.ms": "10",
        "batch.size": "16384",
        "retries": "3",
        "compression.type": "zstd",
        "metadata.max.age.ms": "300000",
        "enable.idempotence": "false",
    }
    consumer = {"group.id": "g", "fetch.max.wait.ms": "100", "max.partition.fetch.bytes": "1048576"}
    confluent_kafka.Producer(for_librdkafka(producer))
    confluent_kafka.Consumer(for_librdkafka({**consumer, "max.poll.records": "5"})).close()
