"""Consumer groups as tests see them: topics with records, members in processes, state and commits."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import kafka
from confluent_kafka import TopicPartition

from barnabas.local.pausing import pause
from barnabas.local.waiting import wait_until

PARTITIONS = 6
RECORDS = 60
PATIENCE_S = 60
MEMBER = Path(__file__).with_name("group_member.py")
LIBRARIES = ("kafka-python", "aiokafka", "confluent-kafka")


def write(cluster, topic):
    """Write `RECORDS` records, the same number to each partition."""
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, str(number), partition=number % PARTITIONS)
    assert producer.flush(PATIENCE_S) == 0


def filled_topic(cluster, admin, name):
    """Create a topic with `RECORDS` records, and return its name."""
    new = confluent_kafka.admin.NewTopic(name, PARTITIONS, 3)
    admin.create_topics([new])[name].result(PATIENCE_S)
    write(cluster, name)
    return name


def committed(cluster, topic):
    """What the group of a topic has committed, by partition.

    A consumer asks: librdkafka's admin client may crash while coordinators move (docs/compatibility.md).
    """
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": topic})
    partitions = [TopicPartition(topic, number) for number in range(PARTITIONS)]
    try:
        found = consumer.committed(partitions, PATIENCE_S)
    finally:
        consumer.close()
    return {each.partition: each.offset for each in found if each.offset >= 0}


def until(holds, what, patience_s=PATIENCE_S):
    """Wait until something holds; a broker that is being replaced may refuse to say."""

    def ask():
        try:
            return holds()
        except (confluent_kafka.KafkaException, kafka.errors.KafkaError):
            return False

    return wait_until(ask, what, patience_s)


def described(cluster, group):
    """A group as its coordinator describes it."""
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap.split(","))
    try:
        return admin.describe_groups([group])[group]
    finally:
        admin.close()


def state(cluster, group):
    return described(cluster, group)["group_state"]


def owners(cluster, group):
    """How many partitions each member of a stable group has; none while it rebalances."""
    found = described(cluster, group)
    if found["group_state"] != "Stable":
        return []
    return sorted(
        sum(len(topic["partitions"]) for topic in member["member_assignment"]["assigned_partitions"])
        for member in found["members"]
    )


class Member:
    """A member in a process of its own, of the library that is named (`group_member.py`).

    Args:
        library: One of `LIBRARIES`.
        read: The records that all members have processed, by partition and offset.
        options: Options of `group_member.py`.

    Attributes:
        records: The records that it has processed.
        acknowledged: The last offset whose commit it knows to be acknowledged, by partition.
        assigned: The partitions that it has.
        assignments: How often its library reported partitions.
        revoked: The partitions that it lost, in order.
    """

    def __init__(self, library, cluster, topic, read, **options):
        command = [sys.executable, "-P", str(MEMBER), library, cluster.bootstrap, topic]
        command += [f"{name}={value}" for name, value in options.items()]
        self.records, self.acknowledged = [], {}
        self.assigned, self.assignments, self.revoked = frozenset(), 0, []
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self._thread = threading.Thread(target=self._listen, args=(read,))
        self._thread.start()

    def _listen(self, read):
        for line in self._process.stdout:
            event, *words = line.split()
            numbers = tuple(map(int, words))
            match event:
                case "assigned":
                    self.assigned |= set(numbers)
                    self.assignments += 1
                case "revoked":
                    self.assigned -= set(numbers)
                    self.revoked += numbers
                case "read":
                    self.records.append(numbers)
                    read[numbers] += 1
                case "committed":
                    partition, offset = numbers
                    self.acknowledged[partition] = offset

    def signal(self, number):
        self._process.send_signal(number)

    def pause(self):
        pause(self._process)

    def close(self):
        """Let the member close its consumer, and wait for its end."""
        self.signal(signal.SIGINT)
        self._process.wait(PATIENCE_S)
        self._thread.join()

    def end(self):
        self._process.kill()
        self._process.wait()
        self._thread.join()
        self._process.stdout.close()
