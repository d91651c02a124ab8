"""A directory with compacted topics and groups that Kafka 3.9.1 wrote is taken over (``tests/data``)."""

from __future__ import annotations

import shutil
from pathlib import Path

import confluent_kafka
import confluent_kafka.admin
import pytest
from confluent_kafka import ConsumerGroupState, TopicPartition
from kafka.record.memory_records import MemoryRecords

from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.batches import keyed_batch, whole_batches
from tests.logged import logged
from tests.metadata import partitions_of

FROM_KAFKA = Path(__file__).parents[1] / "data" / "kafka-3.9.1"
END = 374
PATIENCE_S = 60
FOREVER_MS = str(2**62)
TOPICS = {
    name: {
        "cleanup.policy": "compact",
        "segment.bytes": "2000",
        "min.cleanable.dirty.ratio": "0.01",
        "delete.retention.ms": FOREVER_MS,
    }
    for name in ("kept", "forgotten")
}
OVERRIDES = {
    "offsets.topic.num.partitions": "2",
    "offsets.retention.minutes": str(2**31 - 1),
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "2000000",
    "log.index.size.max.bytes": "4096",
}
DAMAGED = (
    (b"\0\x63", b"a key of a version that does not exist"),
    (b"\0\1\0\4live\0", b"a key that ends amid its topic"),
    (b"\0\1\0\4live\0\4kept\0\0\0\0", b"\0\3\0"),
    (None, b"no key"),
)
"""Records behind Kafka's own in each partition of the offsets topic."""
LAST_VALUES = {b"k%d" % key: b"k%d=%d" % (key, 410 + key) for key in range(8)}


def end_of(partition):
    """The last file of a partition of the offsets topic as Kafka wrote it, and the offset after its end."""
    path = max((FROM_KAFKA / f"__consumer_offsets-{partition}").glob("*.log"))
    batches = list(whole_batches(path.read_bytes()))
    return path, batches[-1].header.last_offset + 1 if batches else int(path.stem)


def add_damaged_records(data):
    for partition in range(2):
        path, end = end_of(partition)
        with (data / path.parent.name / path.name).open("ab") as file:
            file.write(keyed_batch(DAMAGED, base_offset=end))


def admin_of(cluster):
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})


def consumer_of(cluster, group, **more):
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "enable.auto.commit": False}
    return confluent_kafka.Consumer(settings | more)


@pytest.fixture(scope="module", params=["stopped", "killed"])
def cluster(request, tmp_path_factory, new_chroot):
    """A broker whose log directory has Kafka's files in the place of its own."""
    directory = tmp_path_factory.mktemp("taken-over")
    with LocalCluster(directory, brokers=1, overrides=OVERRIDES, zookeeper=new_chroot()) as cluster:
        admin = admin_of(cluster)
        new = [confluent_kafka.admin.NewTopic(name, 1, 1, config=config) for name, config in TOPICS.items()]
        for created in admin.create_topics(new).values():
            created.result(PATIENCE_S)
        consumer = consumer_of(cluster, "any")
        consumer.committed([TopicPartition("kept", 0)], PATIENCE_S)  # creates __consumer_offsets
        consumer.close()
        cluster.terminate(1)
        data = cluster.brokers[1].dir / "data"
        for entry in FROM_KAFKA.iterdir():
            if entry.is_dir():
                shutil.rmtree(data / entry.name)
                shutil.copytree(entry, data / entry.name)
            elif entry.suffix != ".md":
                shutil.copy(entry, data)
        add_damaged_records(data)
        if request.param == "killed":
            (data / ".kafka_cleanshutdown").unlink()
        cluster.restart(1)
        yield cluster


@pytest.fixture(scope="module")
def admin(cluster):
    return admin_of(cluster)


def stored(topic):
    """Offset, key, value and timestamp of each record in Kafka's files, read by a library."""
    found = []
    for path in sorted((FROM_KAFKA / f"{topic}-0").glob("*.log")):
        records = MemoryRecords(path.read_bytes())
        while records.has_next():
            found += [(each.offset, each.key, each.value, each.timestamp) for each in records.next_batch()]
    return found


def consumed(cluster, topic):
    """The same as a consumer gets it, from offset 0 to the end."""
    consumer = consumer_of(cluster, "unused", **{"enable.partition.eof": True, "check.crcs": True})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = []
    while True:
        (message,) = consumer.consume(1, timeout=PATIENCE_S)
        if message.error():
            assert message.error().code() == confluent_kafka.KafkaError._PARTITION_EOF
            break
        found.append((message.offset(), message.key(), message.value(), message.timestamp()[1]))
    consumer.close()
    return found


def committed(cluster, group):
    """Offset and metadata that a group has committed, by topic."""
    consumer = consumer_of(cluster, group)
    found = consumer.committed([TopicPartition(topic, 0) for topic in TOPICS], PATIENCE_S)
    consumer.close()
    return {each.topic: (each.offset, each.metadata or "") for each in found if each.offset >= 0}


@pytest.mark.parametrize("topic", TOPICS)
def test_consumers_get_kafkas_records_over_the_gaps(cluster, topic):
    found = consumed(cluster, topic)
    assert found == stored(topic)
    offsets = [offset for offset, *_ in found]
    assert len(offsets) < END == offsets[-1] + 1
    last = {key: value for _, key, value, _ in found}
    tombstones = {b"k8": None, b"k9": None} if topic == "kept" else {}
    assert last == LAST_VALUES | tombstones


def test_groups_have_their_offsets_and_members(cluster, admin):
    listed = {each.group_id for each in admin.list_consumer_groups().result(PATIENCE_S).valid}
    assert {"live", "empty", "simple"} <= listed
    assert "deleted" not in listed
    assert committed(cluster, "live") == {"kept": (240, "at 240"), "forgotten": (240, "")}
    assert committed(cluster, "empty") == {"kept": (55, "")}
    assert committed(cluster, "simple") == {"kept": (7, "a note")}
    assert committed(cluster, "deleted") == {}
    described = admin.describe_consumer_groups(["live", "empty"])
    live, empty = (described[name].result(PATIENCE_S) for name in ("live", "empty"))
    assert (live.state, live.partition_assignor) == (ConsumerGroupState.STABLE, "range")
    (member,) = live.members
    assert (member.group_instance_id, member.client_id, member.host) == ("static-1", "reader", "/127.0.0.1")
    assert {each.topic for each in member.assignment.topic_partitions} == set(TOPICS)
    assert (empty.state, empty.members) == (ConsumerGroupState.EMPTY, [])


def test_damaged_records_of_groups_are_skipped_and_reported(cluster):
    lines = logged(cluster.brokers[1].dir / "logs" / "server.log").splitlines()
    for partition in range(2):
        _, end = end_of(partition)
        for offset in range(end, end + len(DAMAGED)):
            place = f"Skipping the damaged record of __consumer_offsets-{partition} at offset {offset}: "
            assert sum(place in line for line in lines) == 1


def test_the_static_member_reads_on_where_it_was(cluster):
    consumer = consumer_of(cluster, "live", **{"group.instance.id": "static-1"})
    consumer.subscribe(list(TOPICS))
    wanted = sum(offset >= 240 for topic in TOPICS for offset, *_ in stored(topic))
    found = []
    while len(found) < wanted:
        found += [(each.topic(), each.offset()) for each in consumer.consume(wanted, timeout=PATIENCE_S)]
    consumer.close()
    assert sorted(found) == sorted(
        (topic, offset) for topic in TOPICS for offset, *_ in stored(topic) if offset >= 240
    )


def test_the_cleaner_goes_on_where_kafkas_stopped(cluster):
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "batch.num.messages": 5})
    for number in range(200):
        producer.produce("kept", b"new=%d" % number, b"k%d" % (number % 2), partition=0)
    assert producer.flush(PATIENCE_S) == 0
    checkpoint = cluster.brokers[1].dir / "data" / "cleaner-offset-checkpoint"

    def cleaned_up_to():
        rows = (row.split() for row in checkpoint.read_text().splitlines()[2:])
        return max((int(offset) for topic, _, offset in rows if topic == "kept"), default=0)

    wait_until(lambda: cleaned_up_to() > END, "Kafka's records cleaned")
    found = consumed(cluster, "kept")
    assert len(found) < len(stored("kept")) + 200
    new = {b"k0": b"new=198", b"k1": b"new=199", b"k8": None, b"k9": None}
    assert {key: value for _, key, value, _ in found} == LAST_VALUES | new


def test_a_log_of_kafka_with_gaps_is_replicated_though_its_topic_is_not_compacted_any_more(
    tmp_path, zk_connect
):
    """Its replica was a follower at Kafka, so no row of the cleaner's checkpoint says that it has gaps."""
    with LocalCluster(tmp_path / "cluster", brokers=2, zookeeper=zk_connect) as cluster:
        admin = admin_of(cluster)
        config = {"cleanup.policy": "delete", "retention.ms": "-1"}
        new = confluent_kafka.admin.NewTopic("kept", 1, 2, config=config)
        admin.create_topics([new])["kept"].result(PATIENCE_S)
        logs = [broker.dir / "data" / "kept-0" for broker in cluster.brokers.values()]
        wait_until(lambda: all(log.exists() for log in logs), "both replicas")
        cluster.terminate(2)
        wait_until(lambda: partitions_of(admin, "kept")[0].isrs == [1], "broker 2 out of the ISR")
        cluster.terminate(1)
        shutil.rmtree(logs[0])
        shutil.copytree(FROM_KAFKA / "kept-0", logs[0])
        cluster.restart(1)
        cluster.terminate(1)  # the log has its identity now, and its gaps are still known
        cluster.restart(1)
        cluster.restart(2)
        wait_until(lambda: sorted(partitions_of(admin, "kept")[0].isrs) == [1, 2], "broker 2 in the ISR")
        cluster.kill(1)
        assert consumed(cluster, "kept") == stored("kept")
