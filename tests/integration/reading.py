"""Reading a partition with a real client."""

from __future__ import annotations

import confluent_kafka

ANSWER_S = 60.0


def read_partition(
    bootstrap: str, topic: str, partition: int = 0, *, at_least: int = 0
) -> list[confluent_kafka.Message]:
    """Read from the start to the end, over whatever elections the client meets.

    Args:
        bootstrap: The brokers.
        topic: The topic.
        partition: The partition.
        at_least: Records that are there for certain, though a leader that has just been elected may not know
            yet that they are committed.
    """
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(topic, partition, 0)])
    found: list[confluent_kafka.Message] = []
    is_at_end = False
    while len(found) < at_least or not is_at_end:
        message = consumer.poll(ANSWER_S)
        assert message is not None, f"no answer about {topic}-{partition} within {ANSWER_S:g} s"
        if message.error() is None:
            found.append(message)
            is_at_end = False
        else:
            is_at_end = message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
    consumer.close()
    return found
