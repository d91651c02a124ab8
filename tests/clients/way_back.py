"""Apache Kafka on a directory of ours, with the groups in it, and ours on that directory again."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import confluent_kafka
import confluent_kafka.admin
from confluent_kafka import TopicPartition

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.cluster import LocalCluster
from tests.clients.running import (
    OVERRIDES,
    PATIENCE_S,
    RECORDS,
    MavenError,
    Result,
    checked,
    class_path_of,
    client_of,
    wait_for,
)

RELEASES = ("2.8.2", "3.9.1")
"""The last release that ours is like, and the last one with ZooKeeper."""

TOPIC, PARTITIONS, GROUP, SIMPLE = "kept", 2, "live", "simple"
STATIC = {"group.instance.id": "static-1", "session.timeout.ms": 300_000, "client.id": "reader"}
NOTE = "a note"


class Groups(NamedTuple):
    """What a cluster says of its groups.

    Attributes:
        names: All groups.
        commits: Offset and metadata by group and partition.
        members: State, assignor and members of the group that has some.
    """

    names: list[str]
    commits: dict[tuple[str, int], tuple[int, str]]
    members: tuple[str, str, list[tuple[str, str, str, list[int]]]]


def consumer_of(bootstrap: str, group: str, **more: Any) -> confluent_kafka.Consumer:
    """A consumer that commits by hand."""
    settings = {
        **client_of(bootstrap),
        "group.id": group,
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
    }
    return confluent_kafka.Consumer(settings | more)


def groups(bootstrap: str) -> Groups:
    """Ask for the groups, as soon as they are loaded."""
    admin = confluent_kafka.admin.AdminClient(client_of(bootstrap))
    names = sorted(each.group_id for each in admin.list_consumer_groups().result(PATIENCE_S).valid)
    commits = {}
    for group in (GROUP, SIMPLE):
        consumer = consumer_of(bootstrap, group)
        asked = [TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
        for each in consumer.committed(asked, PATIENCE_S):
            commits[group, each.partition] = (each.offset, each.metadata or "")
        consumer.close()
    found = admin.describe_consumer_groups([GROUP])[GROUP].result(PATIENCE_S)
    members = sorted(
        (
            each.group_instance_id,
            each.client_id,
            each.member_id,
            sorted(partition.partition for partition in each.assignment.topic_partitions),
        )
        for each in found.members
    )
    return Groups(names, commits, (found.state.name, found.partition_assignor, members))


def read(bootstrap: str, count: int, metadata: str) -> set[tuple[int, int]]:
    """Read so many records as the static member, commit them, and close it: it stays in the group."""
    consumer = consumer_of(bootstrap, GROUP, **STATIC)
    consumer.subscribe([TOPIC])
    found: set[tuple[int, int]] = set()

    def more() -> int:
        for message in consumer.consume(count - len(found), timeout=1):
            if not message.error():
                found.add((message.partition(), message.offset()))
        return len(found)

    wait_for(more, lambda have: have >= count, lambda: True)
    ends = [
        TopicPartition(TOPIC, partition, 1 + max(offset for of, offset in found if of == partition), metadata)
        for partition in {partition for partition, _ in found}
    ]
    consumer.commit(offsets=ends, asynchronous=False)
    consumer.close()
    return found


def write(bootstrap: str) -> None:
    """Write `RECORDS` records, the same number to each partition."""
    producer = confluent_kafka.Producer(client_of(bootstrap))
    for number in range(RECORDS):
        producer.produce(TOPIC, b"v", b"k%d" % number, partition=number % PARTITIONS)
    producer.flush(PATIENCE_S)


@contextmanager
def kafka_in_place_of(broker: BrokerProcess, zookeeper: str, class_path: str, scratch: Path) -> Iterator[str]:
    """Run Apache Kafka with a broker's id, address and directories.

    Raises:
        RuntimeError: It does not come up.
    """
    settings = OVERRIDES | {
        "broker.id": str(broker.id),
        "listeners": f"PLAINTEXT://{broker.kafka}",
        "log.dirs": str(broker.dir / "data"),
        "zookeeper.connect": zookeeper,
        "offsets.topic.replication.factor": "1",
    }
    file, console = scratch / "kafka.properties", scratch / "kafka-console"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    with console.open("w") as output:
        command = ("java", "-Xmx400m", "-cp", class_path, "kafka.Kafka", str(file))
        process = subprocess.Popen(command, stdout=output, stderr=output)
    try:
        serves = wait_for(lambda: _serves(broker.kafka), bool, lambda: process.poll() is None)
        if not serves:
            raise RuntimeError(f"it does not serve: {console.read_text()[-500:]}")
        yield broker.kafka
        process.terminate()
        process.wait(PATIENCE_S)
    finally:
        process.kill()
        process.wait()


def _serves(bootstrap: str) -> bool:
    """Whether a broker leads all partitions of groups and has loaded them."""
    try:
        groups(bootstrap)
    except confluent_kafka.KafkaException:
        return False
    return True


def to_kafka_and_back(release: str, scratch: Path) -> Result:
    """Give a directory of ours to Apache Kafka, and back; each time the groups are those from before."""
    name = f"Apache Kafka {release} on our directory"
    try:
        class_path = class_path_of(release, scratch)
    except MavenError as error:
        return Result(name, 0, (str(error),))
    with LocalCluster(scratch / f"way-back-{release}", brokers=1, overrides=OVERRIDES) as cluster:
        broker = cluster.brokers[BrokerId(1)]
        new = confluent_kafka.admin.NewTopic(TOPIC, PARTITIONS, 1, config={"cleanup.policy": "compact"})
        admin = confluent_kafka.admin.AdminClient(client_of(cluster.bootstrap))
        admin.create_topics([new])[TOPIC].result()
        write(cluster.bootstrap)
        first = read(cluster.bootstrap, RECORDS, NOTE)
        simple = consumer_of(cluster.bootstrap, SIMPLE)
        simple.commit(offsets=[TopicPartition(TOPIC, 1, 7, NOTE)], asynchronous=False)
        simple.close()
        ours = groups(cluster.bootstrap)
        cluster.terminate(1)
        with kafka_in_place_of(broker, cluster.zookeeper_connect, class_path, scratch) as kafka:
            theirs = groups(kafka)
            write(kafka)
            second = read(kafka, RECORDS, "at Kafka")
            left = groups(kafka)
        cluster.restart(1)
        again = groups(cluster.bootstrap)
        write(cluster.bootstrap)
        third = read(cluster.bootstrap, RECORDS, "")
    each = RECORDS // PARTITIONS
    parts = [
        {(partition, offset) for partition in range(PARTITIONS) for offset in range(n * each, (n + 1) * each)}
        for n in range(3)
    ]
    return checked(
        name,
        {
            f"our groups have commits and a static member: {ours}": ours.names == [GROUP, SIMPLE]
            and ours.commits[GROUP, 0] == (each, NOTE)
            and ours.commits[SIMPLE, 1] == (7, NOTE)
            and ours.members[:2] == ("STABLE", "range")
            and [member[::3] for member in ours.members[2]] == [("static-1", list(range(PARTITIONS)))],
            f"Kafka has our groups: {theirs}": theirs == ours,
            "the static member reads on at Kafka": (first, second) == tuple(parts[:2]),
            f"we have Kafka's groups: {left}, {again}": again == left != ours,
            "the static member reads on here": third == parts[2],
        },
    )
