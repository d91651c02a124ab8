"""The death of a group's coordinator, consumers without members, and clients before the offsets topic."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import TopicPartition

from tests.integration.groups import (
    PARTITIONS,
    PATIENCE_S,
    RECORDS,
    committed,
    until,
)
from tests.metadata import metadata_of


class Member:
    """A consumer of librdkafka on a thread of its own that commits each record after it has read it.

    Attributes:
        assigned: The partitions that it has.
        acknowledged: The last offset that it has committed, by partition.
    """

    def __init__(self, cluster, topic, read, **settings):
        self.consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": cluster.bootstrap,
                "group.id": topic,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": 6000,
                "heartbeat.interval.ms": 200,
                "log_level": 2,
                **settings,
            }
        )
        self.assigned = ()
        self.acknowledged = {}
        self._topic, self._read = topic, read
        self._stop = threading.Event()
        self._to_commit = {}
        self.consumer.subscribe([topic], on_revoke=self._on_revoke, on_lost=self._on_revoke)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _on_revoke(self, _consumer, partitions):
        for each in partitions:
            self._to_commit.pop(each.partition, None)  # whoever has it next reads it again

    def _run(self):
        while not self._stop.is_set():
            message = self.consumer.poll(0.1)
            self.assigned = tuple(self.consumer.assignment())
            if message is not None and not message.error():
                self._read[message.partition(), message.offset()] += 1
                self._to_commit[message.partition()] = message.offset() + 1
            if self._to_commit:
                self._commit()

    def _commit(self):
        offsets = [TopicPartition(self._topic, *each) for each in self._to_commit.items()]
        try:
            self.consumer.commit(offsets=offsets, asynchronous=False)
        except confluent_kafka.KafkaException:
            return  # it is tried again after the next poll, unless the partitions are revoked
        self.acknowledged |= self._to_commit
        self._to_commit.clear()

    def close(self):
        self._stop.set()
        self._thread.join()
        self.consumer.close()


def everything_read(read):
    return len(read) == RECORDS


def shared(*members):
    """Whether the members have all partitions among them, each one at least, and none twice."""
    assigned = [each.partition for member in members for each in member.assigned]
    return sorted(assigned) == list(range(PARTITIONS)) and all(member.assigned for member in members)


def test_no_commit_goes_back_when_the_coordinator_dies(cluster, admin, topic):
    read = Counter()
    members = [Member(cluster, topic, read) for _ in range(2)]
    try:
        until(lambda: everything_read(read) and shared(*members), "all records read")
        coordinator = admin.describe_consumer_groups([topic])[topic].result(PATIENCE_S).coordinator.id
        # A retry must not write a record twice: the end of each partition is compared.
        settings = {"bootstrap.servers": cluster.bootstrap, "enable.idempotence": True}
        producer = confluent_kafka.Producer(settings)
        for number in range(RECORDS):
            producer.produce(topic, "more", partition=number % PARTITIONS)
            producer.poll(0.01)
            if number == RECORDS // 2:
                cluster.kill(coordinator)
                acknowledged = [dict(member.acknowledged) for member in members]
        assert producer.flush(PATIENCE_S) == 0
        found = until(lambda: committed(cluster, topic), "the commits at another coordinator")
        for partition, offset in (each for of_member in acknowledged for each in of_member.items()):
            assert found[partition] >= offset
        ends = dict.fromkeys(range(PARTITIONS), 2 * RECORDS // PARTITIONS)
        until(lambda: committed(cluster, topic) == ends, "the commits of all records")
        assert len(read) == 2 * RECORDS
    finally:
        for member in members:
            member.close()
        cluster.restart(coordinator)
        cluster.wait_ready()


async def test_aiokafka_reads_on_where_it_has_committed(cluster, admin, topic):
    async def read(count):
        consumer = aiokafka.AIOKafkaConsumer(
            topic,
            bootstrap_servers=cluster.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
        )
        await consumer.start()
        found = [await asyncio.wait_for(consumer.getone(), PATIENCE_S) for _ in range(count)]
        await consumer.commit()
        await consumer.stop()
        return {(record.partition, record.offset) for record in found}

    first, second = await read(RECORDS // 2), await read(RECORDS // 2)
    assert len(first | second) == RECORDS
    assert sum(committed(cluster, topic).values()) == RECORDS


def test_a_simple_consumer_keeps_its_offsets_without_a_group(cluster, fresh_admin, topic):
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": topic})
    consumer.commit(offsets=[TopicPartition(topic, 0, 5, "note")], asynchronous=False)
    (found,) = consumer.committed([TopicPartition(topic, 0)], PATIENCE_S)
    assert (found.offset, found.metadata) == (5, "note")
    consumer.close()
    fresh_admin.delete_topics([topic])[topic].result(PATIENCE_S)
    until(lambda: committed(cluster, topic) == {}, "the offsets of a deleted topic gone")


def test_clients_see_the_offsets_topic_and_may_not_write_to_it(cluster, topic):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    refused = []
    producer.produce("__consumer_offsets", "junk", on_delivery=lambda error, _: refused.append(error))
    producer.flush(PATIENCE_S)
    assert [error.name() for error in refused] == ["TOPIC_EXCEPTION"]
    assert "__consumer_offsets" in metadata_of(producer).topics


def test_a_transactional_producer_is_told_at_once(cluster):
    settings = {"bootstrap.servers": cluster.bootstrap, "transactional.id": "x"}
    with pytest.raises(confluent_kafka.KafkaException) as refused:
        confluent_kafka.Producer(settings).init_transactions(PATIENCE_S)
    assert refused.value.args[0].name() == "TRANSACTIONAL_ID_AUTHORIZATION_FAILED"
