"""A consumer in a group: seeking, pausing, lag, and subscription by pattern.

Members of all client libraries are in `test_group_members.py`.
"""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import confluent_kafka

from tests.integration.groups import (
    PARTITIONS,
    PATIENCE_S,
    RECORDS,
    filled_topic,
    until,
    write,
)

EACH = RECORDS // PARTITIONS
"""The records in each partition."""

GROUPS_TOOL = Path(__file__).parents[2] / "scripts" / "kafka-consumer-groups.sh"


class Program:
    """A program that consumes with confluent-kafka."""

    def __init__(self, cluster, topic, *, pattern=None):
        self.consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "topic.metadata.refresh.interval.ms": 500,
            }
        )
        self.topic = topic
        self.consumer.subscribe([topic if pattern is None else pattern])

    def poll(self):
        messages = self.consumer.consume(RECORDS, timeout=0.5)
        return [(each.topic(), each.partition(), each.offset()) for each in messages if not each.error()]

    def commit(self):
        self.consumer.commit(asynchronous=False)

    def pause(self, partition):
        self.consumer.pause([confluent_kafka.TopicPartition(self.topic, partition)])

    def resume(self, partition):
        self.consumer.resume([confluent_kafka.TopicPartition(self.topic, partition)])

    def seek(self, partition, offset):
        self.consumer.seek(confluent_kafka.TopicPartition(self.topic, partition, offset))

    def lag(self):
        return {
            each.partition: self.consumer.get_watermark_offsets(each, PATIENCE_S)[1] - each.offset
            for each in self.consumer.committed(self.consumer.assignment(), PATIENCE_S)
        }

    def close(self):
        self.consumer.close()


def read_exactly(program, count):
    """Read until there are so many records, and return them; there must be no more."""
    found = []

    def enough():
        found.extend(program.poll())
        return len(found) >= count

    until(enough, f"{count} records")
    assert len(found) == count
    return found


def lag_of_tool(cluster, group):
    """The column LAG of ``kafka-consumer-groups.sh --describe``, by partition."""
    command = [GROUPS_TOOL, "--bootstrap-server", cluster.bootstrap, "--describe", "--group", group]
    said = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE_S).stdout
    rows = [line.split() for line in said.splitlines() if line.startswith(group)]
    return {int(row[2]): int(row[5]) for row in rows}


def test_a_consumer_seeks_and_pauses_and_knows_its_lag(cluster, topic):
    program = Program(cluster, topic)
    try:
        assert len(set(read_exactly(program, RECORDS))) == RECORDS
        program.commit()
        program.pause(0)
        write(cluster, topic)
        assert program.lag() == dict.fromkeys(range(PARTITIONS), EACH)
        others = read_exactly(program, RECORDS - EACH)
        assert {partition for _, partition, _ in others} == set(range(1, PARTITIONS))
        program.commit()
        behind = dict.fromkeys(range(PARTITIONS), 0) | {0: EACH}
        assert program.lag() == lag_of_tool(cluster, topic) == behind
        program.resume(0)
        assert read_exactly(program, EACH) == [(topic, 0, EACH + number) for number in range(EACH)]
        program.seek(0, 5)
        again = read_exactly(program, 2 * EACH - 5)
        assert again == [(topic, 0, number) for number in range(5, 2 * EACH)]
        program.commit()
        assert program.lag() == dict.fromkeys(range(PARTITIONS), 0)
    finally:
        program.close()


def test_a_regular_expression_finds_a_topic_that_is_created_later(cluster, admin, topic):
    program = Program(cluster, topic, pattern=f"^{re.escape(topic)}(-later)?$")
    try:
        assert {name for name, _, _ in read_exactly(program, RECORDS)} == {topic}
        program.commit()  # the new topic's partitions come with a rebalance
        later = filled_topic(cluster, admin, f"{topic}-later")
        assert {name for name, _, _ in read_exactly(program, RECORDS)} == {later}
    finally:
        program.close()
