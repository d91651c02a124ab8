"""What operators and rack-aware consumers ask, by real clients of two brokers in two racks."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import urllib.request
from pathlib import Path

import confluent_kafka
import kafka
import kafka.admin
import pytest

from barnabas.broker.wire.schemas import REQUEST, load_payload_module
from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until

SCRIPTS = Path(__file__).parents[2] / "scripts"
RACKS = {1: "far", 2: "near"}
RECORDS = 50


@pytest.fixture(scope="module")
def cluster(tmp_path_factory, new_chroot):
    directory = tmp_path_factory.mktemp("admin") / "cluster"
    overrides = {"replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector"}
    brokers = LocalCluster(directory, brokers=2, overrides=overrides, zookeeper=new_chroot())
    for number, broker in brokers.brokers.items():
        dirs = ",".join(str(directory / f"broker-{number}" / name) for name in ("one", "two"))
        broker.own_settings |= {"broker.rack": RACKS[number], "log.dirs": dirs}
    with brokers:
        yield brokers


@pytest.fixture(scope="module")
def python_admin(cluster):
    admin = kafka.KafkaAdminClient(bootstrap_servers=cluster.bootstrap)
    yield admin
    admin.close()


@pytest.fixture(scope="module")
def orders(cluster, python_admin):
    """A topic that broker 1 leads and broker 2 follows, with some records."""
    topic = kafka.admin.NewTopic("orders", -1, -1, replica_assignments={0: [1, 2]})
    python_admin.create_topics([topic])
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
    for number in range(RECORDS):
        producer.produce("orders", str(number), partition=0)
    assert producer.flush(60) == 0
    return "orders"


def fetches(broker):
    """How many Fetch requests of clients a broker has answered; other brokers fetch by gRPC."""
    with urllib.request.urlopen(f"http://{broker.metrics}/metrics", timeout=10) as page:
        lines = page.read().decode().splitlines()
    name = 'kafka_network_RequestMetrics_RequestsPerSec_total{request="Fetch"}'
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith(name))


def test_a_consumer_reads_from_the_follower_in_its_rack(cluster, orders):
    before = fetches(cluster.brokers[2])
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": cluster.bootstrap, "group.id": "none", "client.rack": "near"}
    )
    consumer.assign([confluent_kafka.TopicPartition(orders, 0, 0)])
    read = []
    wait_until(lambda: read.extend(consumer.consume(RECORDS, 1)) or len(read) >= RECORDS, "all records")
    consumer.close()
    assert [int(message.value()) for message in read] == list(range(RECORDS))
    assert fetches(cluster.brokers[2]) > before


def fetch(s, offset, **more):
    partition = s.FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
    return s.FetchRequest(
        replica_id=-1,
        max_wait=dt.timedelta(seconds=30),
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        topics=(s.FetchTopic(topic="orders", partitions=(partition,)),),
        forgotten_topics_data=(),
        **more,
    )


def test_the_leader_names_the_follower_and_a_session_tells_what_is_new(cluster, orders, answered):
    s = load_payload_module(1, 11, REQUEST)
    leader, follower = cluster.brokers[1], cluster.brokers[2]
    (topic,) = answered(leader, fetch(s, 0, rack_id="near")).responses
    assert (topic.topic, topic.partitions[0].preferred_read_replica) == (orders, 2)
    whole = answered(follower, fetch(s, 0, rack_id="near", session_id=0, session_epoch=0))
    assert whole.session_id > 0
    assert len(whole.responses[0].partitions[0].records) > RECORDS
    quiet = s.FetchRequest(
        replica_id=-1,
        max_wait=dt.timedelta(0),
        min_bytes=1,
        max_bytes=1 << 20,
        isolation_level=0,
        topics=(),
        forgotten_topics_data=(),
        session_id=whole.session_id,
        session_epoch=1,
        rack_id="near",
    )
    again = answered(follower, quiet)
    assert (again.error_code, again.session_id) == (0, whole.session_id)
    assert answered(follower, quiet).error_code == 71


def test_offsets_of_release_0_8_are_kept_in_zookeeper(cluster, orders, answered):
    """What one broker was told, another one answers: no coordinator takes part."""
    commits, fetches = load_payload_module(8, 0, REQUEST), load_payload_module(9, 0, REQUEST)
    partition = commits.OffsetCommitRequestPartition(
        partition_index=0, committed_offset=7, committed_metadata=""
    )
    topic = commits.OffsetCommitRequestTopic(name=orders, partitions=(partition,))
    first, second = cluster.brokers.values()
    told = answered(first, commits.OffsetCommitRequest(group_id="old", topics=(topic,)))
    assert told.topics[0].partitions[0].error_code == 0
    topic = fetches.OffsetFetchRequestTopic(name=orders, partition_indexes=(0, 1))
    asked = answered(second, fetches.OffsetFetchRequest(group_id="old", topics=(topic,)))
    assert [(each.committed_offset, each.error_code) for each in asked.topics[0].partitions] == [
        (7, 0), (-1, 3),
    ]  # fmt: skip


def reassign(cluster, plan, *flags):
    """Run kafka-reassign-partitions.sh with a plan; what it printed."""
    script = str(SCRIPTS / "kafka-reassign-partitions.sh")
    command = [script, "--bootstrap-server", cluster.bootstrap, "--reassignment-json-file", str(plan), *flags]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


def test_a_throttled_move_waits_until_its_throttle_is_lifted(cluster, python_admin, tmp_path):
    python_admin.create_topics([kafka.admin.NewTopic("moved", -1, -1, replica_assignments={0: [1]})])
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "batch.size": 100_000})
    for _ in range(150):  # a window of the quota for each MB, which outlast a slow tool
        producer.produce("moved", b"x" * 90_000, partition=0)
    assert producer.flush(60) == 0
    plan = tmp_path / "plan.json"
    partition = {"topic": "moved", "partition": 0, "replicas": [1, 2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    reassign(cluster, plan, "--execute", "--throttle", "1")
    name = "kafka_server_LeaderReplication_byte_rate"
    wait_until(lambda: (cluster.brokers[1].gauge(name) or 0) > 1, "throttled bytes")
    assert "is still in progress" in reassign(cluster, plan, "--verify", "--preserve-throttles")
    reassign(cluster, plan, "--execute", "--additional", "--throttle", "100000000")
    wait_until(lambda: "is complete" in reassign(cluster, plan, "--verify"), "the end of the move")


def test_a_replica_moves_to_another_log_directory_while_it_is_written(cluster, python_admin, tmp_path):
    python_admin.create_topics([kafka.admin.NewTopic("moving", -1, -1, replica_assignments={0: [1, 2]})])
    producer = confluent_kafka.Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})

    def write(numbers):
        for number in numbers:
            producer.produce("moving", b"%d" % number * 500, partition=0)
        assert producer.flush(60) == 0

    write(range(500))
    directories = {cluster.directory / "broker-1" / name for name in ("one", "two")}
    (former,) = (each for each in directories if (each / "moving-0").exists())
    (target,) = directories - {former}
    plan = tmp_path / "plan.json"
    asked = {"topic": "moving", "partition": 0, "replicas": [1, 2], "log_dirs": [str(target), "any"]}
    plan.write_text(json.dumps({"version": 1, "partitions": [asked]}))
    begun = reassign(cluster, plan, "--execute")
    assert begun.endswith("Successfully started log directory move for: moving-0-1\n")
    rate = "kafka_server_AlterLogDirsReplication_byte_rate"
    wait_until(lambda: (cluster.brokers[1].gauge(rate) or 0) > 0, "copied bytes")
    write(range(500, 1000))
    completed = "Reassignment of replica moving-0-1 completed successfully."
    wait_until(lambda: completed in reassign(cluster, plan, "--verify"), "the end of the move")
    assert ((target / "moving-0").exists(), (former / "moving-0").exists()) == (True, False)
    write(range(1000, 1001))
    consumer = confluent_kafka.Consumer({"bootstrap.servers": cluster.bootstrap, "group.id": "moved"})
    consumer.assign([confluent_kafka.TopicPartition("moving", 0, 0)])
    values = [each.value() for each in consumer.consume(1001, timeout=60)]
    consumer.close()
    assert values == [b"%d" % number * 500 for number in range(1001)]
