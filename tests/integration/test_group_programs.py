"""The same group program with three client libraries: killed and paused members, killed brokers, and what
else users do with a consumer."""

from __future__ import annotations

import asyncio
import re
import signal
import subprocess
import threading
from collections import Counter
from pathlib import Path

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest

from barnabas.page.groups import GroupReader
from tests.integration.groups import (
    LIBRARIES,
    PARTITIONS,
    PATIENCE_S,
    QUICK_GROUPS,
    RECORDS,
    Member,
    committed,
    filled_topic,
    owners,
    until,
    write,
)
from tests.metadata import partitions_of

OVERRIDES = QUICK_GROUPS
EACH = RECORDS // PARTITIONS
"""The records in each partition."""

RECOVERY_S = 180
"""How long clients may take to find other brokers: some wait for a dead one for their request timeout."""

GROUPS_TOOL = Path(__file__).parents[2] / "scripts" / "kafka-consumer-groups.sh"


@pytest.fixture
def admin(cluster):
    """A client that knows only brokers that run: that of a module may ask one that a test has killed."""
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


@pytest.mark.parametrize(
    "libraries", [LIBRARIES, *((each,) * 3 for each in LIBRARIES)], ids=["mixed", *LIBRARIES]
)
def test_three_members_of_which_one_is_killed_and_one_paused(cluster, admin, topic, members, libraries):
    read, seen = Counter(), {}
    members += [Member(library, cluster, topic, read) for library in libraries]
    killed, paused, _ = members

    def has_committed(count):
        found = committed(cluster, topic)
        assert all(found.get(partition, 0) >= offset for partition, offset in seen.items()), "it went back"
        seen.update(found)
        return sum(found.values()) == count

    until(lambda: owners(cluster, topic) == [2, 2, 2], "three members")
    write(cluster, topic)  # the first to join may have read all that was there
    until(lambda: has_committed(2 * RECORDS), "the commits of all three")
    killed.signal(signal.SIGKILL)
    paused.signal(signal.SIGSTOP)
    write(cluster, topic)
    until(lambda: owners(cluster, topic) == [PARTITIONS], "one member")
    until(lambda: has_committed(3 * RECORDS), "the commits of the member that is left")
    paused.signal(signal.SIGCONT)
    until(lambda: owners(cluster, topic) == [3, 3], "the paused member again")
    write(cluster, topic)
    until(lambda: has_committed(4 * RECORDS), "the commits of both")
    assert len(read) == 4 * RECORDS
    assert all(each.records for each in members)


class Writer:
    """Writes to all partitions in turn until it is stopped.

    Attributes:
        written: The acknowledged records, by partition and offset.
    """

    def __init__(self, cluster, topic):
        # A retry must not write a record twice: the end of each partition is compared.
        settings = {
            "bootstrap.servers": cluster.bootstrap,
            "enable.idempotence": True,
            "max.in.flight.requests.per.connection": 1,
        }
        self._producer, self._topic = confluent_kafka.Producer(settings), topic
        self.written, self._stopped = set(), threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self):
        number = 0
        while not self._stopped.is_set():
            self._producer.produce(self._topic, b"v", partition=number % PARTITIONS, on_delivery=self._note)
            self._producer.poll(0.05)  # the members commit each record
            number += 1

    def _note(self, error, message):
        assert error is None
        self.written.add((message.partition(), message.offset()))

    def stop(self):
        self._stopped.set()
        self._thread.join()
        assert self._producer.flush(PATIENCE_S) == 0


def shown(page, group):
    """The number of partitions with a committed offset that the live page shows."""
    return next((each["partitions"] for each in page.read({}) if each["name"] == group), 0)


def in_sync(admin, *topics):
    return all(len(each.isrs) == 3 for topic in topics for each in partitions_of(admin, topic).values())


@pytest.mark.timeout(900)  # three recoveries of `RECOVERY_S` at most
def test_brokers_are_killed_in_turn_and_every_record_is_processed_and_no_commit_goes_back(
    cluster, admin, topic, members
):
    read = Counter()
    members += [Member(library, cluster, topic, read) for library in LIBRARIES]
    until(lambda: owners(cluster, topic) == [2, 2, 2], "three members")
    writer, page = Writer(cluster, topic), GroupReader(cluster.bootstrap)
    try:
        for broker in cluster.brokers:
            before = [dict(member.acknowledged) for member in members]
            cluster.kill(broker)
            known = len(writer.written)
            enough = known + 2 * PARTITIONS
            until(lambda enough=enough: len(writer.written) > enough, "records without the broker")
            alive = set(writer.written)
            until(lambda alive=alive: alive <= read.keys(), "these records processed", RECOVERY_S)
            found = until(lambda: committed(cluster, topic), "the commits")
            until(lambda: shown(page, topic) == PARTITIONS, "the group on the live page")
            for partition, offset in (each for of_member in before for each in of_member.items()):
                assert found[partition] >= offset
            cluster.restart(broker)
            until(lambda: in_sync(admin, topic, "__consumer_offsets"), "all replicas in sync")
    finally:
        writer.stop()
        page.close()
    everything = {(partition, offset) for partition in range(PARTITIONS) for offset in range(EACH)}
    everything |= writer.written
    until(lambda: everything <= read.keys(), "all records processed", RECOVERY_S)
    ends = Counter(partition for partition, _ in everything)
    until(lambda: committed(cluster, topic) == ends, "the commits of all records")


class WithConfluentKafka:
    """A program that consumes with confluent-kafka; the classes below do the same with other libraries."""

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


class WithKafkaPython:
    def __init__(self, cluster, topic, *, pattern=None):
        self.consumer = kafka.KafkaConsumer(
            bootstrap_servers=cluster.bootstrap,
            group_id=topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            metadata_max_age_ms=500,
        )
        self.topic = topic
        self.consumer.subscribe([topic] if pattern is None else (), pattern=pattern)

    def poll(self):
        found = self.consumer.poll(500).items()
        return [(tp.topic, tp.partition, each.offset) for tp, records in found for each in records]

    def commit(self):
        self.consumer.commit()

    def pause(self, partition):
        self.consumer.pause(kafka.TopicPartition(self.topic, partition))

    def resume(self, partition):
        self.consumer.resume(kafka.TopicPartition(self.topic, partition))

    def seek(self, partition, offset):
        self.consumer.seek(kafka.TopicPartition(self.topic, partition), offset)

    def lag(self):
        ends = self.consumer.end_offsets(self.consumer.assignment())
        return {tp.partition: end - self.consumer.committed(tp) for tp, end in ends.items()}

    def close(self):
        self.consumer.close()


class WithAiokafka:
    def __init__(self, cluster, topic, *, pattern=None):
        self.runner, self.topic = asyncio.Runner(), topic
        self.runner.run(self._start(cluster, pattern))

    async def _start(self, cluster, pattern):
        self.consumer = aiokafka.AIOKafkaConsumer(
            bootstrap_servers=cluster.bootstrap,
            group_id=self.topic,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            metadata_max_age_ms=500,
        )
        self.consumer.subscribe([self.topic] if pattern is None else (), pattern=pattern)
        await self.consumer.start()

    def poll(self):
        found = self.runner.run(self.consumer.getmany(timeout_ms=500)).items()
        return [(tp.topic, tp.partition, each.offset) for tp, records in found for each in records]

    def commit(self):
        self.runner.run(self.consumer.commit())

    def pause(self, partition):
        async def pause():
            self.consumer.pause(aiokafka.TopicPartition(self.topic, partition))

        self.runner.run(pause())

    def resume(self, partition):
        self.consumer.resume(aiokafka.TopicPartition(self.topic, partition))

    def seek(self, partition, offset):
        self.consumer.seek(aiokafka.TopicPartition(self.topic, partition), offset)

    def lag(self):
        async def ask():
            ends = await self.consumer.end_offsets(self.consumer.assignment())
            return {tp.partition: end - await self.consumer.committed(tp) for tp, end in ends.items()}

        return self.runner.run(ask())

    def close(self):
        self.runner.run(self.consumer.stop())
        self.runner.close()


PROGRAMS = [WithConfluentKafka, WithKafkaPython, WithAiokafka]


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


@pytest.mark.parametrize("library", PROGRAMS)
def test_a_consumer_seeks_and_pauses_and_knows_its_lag(cluster, topic, library):
    program = library(cluster, topic)
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


@pytest.mark.parametrize("library", PROGRAMS)
def test_a_regular_expression_finds_a_topic_that_is_created_later(cluster, admin, topic, library):
    program = library(cluster, topic, pattern=f"^{re.escape(topic)}(-later)?$")
    try:
        assert {name for name, _, _ in read_exactly(program, RECORDS)} == {topic}
        program.commit()  # the new topic's partitions come with a rebalance
        later = filled_topic(cluster, admin, f"{topic}-later")
        assert {name for name, _, _ in read_exactly(program, RECORDS)} == {later}
    finally:
        program.close()
