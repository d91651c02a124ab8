"""High watermark and ISR, seen from outside while the fetching of followers is stopped."""

from __future__ import annotations

import time

import confluent_kafka
import pytest
from kazoo.client import KazooClient

from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.workload.clients import ConfluentReader
from tests.trial import Trial

FETCHING = "follower.fetch"
TP = TopicPartition("watermark", 0)


def write(bootstrap, value, acks):
    """Write one record and return its offset once it is acknowledged."""
    outcome = []
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "acks": acks, "linger.ms": 0})
    producer.produce(TP.topic, value, partition=TP.partition, on_delivery=lambda *told: outcome.append(told))
    assert producer.flush(20) == 0
    ((error, message),) = outcome
    assert error is None
    return message.offset()


def read_until(reader, count, deadline_s=20.0):
    records, deadline = [], time.monotonic() + deadline_s
    while len(records) < count and time.monotonic() < deadline:
        records.extend(reader.poll())
    return [(offset, value) for _, offset, value in records]


@pytest.fixture
def patient_cluster(tmp_path, zk_connect):
    """Its leaders never drop a follower from the ISR while a test runs."""
    overrides = {"replica.lag.time.max.ms": "120000", "failpoints.over.http": "true"}
    with LocalCluster(tmp_path / "cluster", overrides=overrides, zookeeper=zk_connect) as running:
        yield running


def test_a_record_above_the_high_watermark_is_not_visible_to_a_consumer(patient_cluster):
    cluster, observer = patient_cluster, Observer(patient_cluster.bootstrap)
    observer.create_topic(TP.topic, partitions=1)
    assert write(cluster.bootstrap, b"replicated", acks="all") == 0
    leader = observer.look(TP.topic).partitions[TP].leader
    followers = [broker for broker in cluster.brokers.values() if broker.id != leader]
    for follower in followers:
        follower.arm(FETCHING, "pause")
    assert write(cluster.bootstrap, b"only on the leader", acks="1") == 1

    reader = ConfluentReader(cluster.bootstrap, [TP])
    assert read_until(reader, 1) == [(0, b"replicated")]
    assert read_until(reader, 1, deadline_s=2.0) == []
    assert reader.end(TP) == 1

    for follower in followers:
        follower.arm(FETCHING, "off")
    assert read_until(reader, 1) == [(1, b"only on the leader")]
    assert reader.end(TP) == 2
    reader.close()


def raise_versions(cluster, tps):
    """Write each partition's state once more, so that it stands under another version than leaders know."""
    zk = KazooClient(cluster.zookeeper_connect)
    zk.start()
    for tp in tps:
        path = f"/brokers/topics/{tp.topic}/partitions/{tp.partition}/state"
        zk.set(path, zk.get(path)[0])
    zk.stop()
    zk.close()


def test_a_follower_whose_fetching_alone_stops_leaves_the_isr_and_returns(cluster, tmp_path):
    """KAFKA-1382, KAFKA-2729: also where somebody has raised the version of the state behind the leader."""
    with Trial(cluster, topic="fetching") as trial:
        trial.workload.wait_for_progress(30)
        raise_versions(cluster, trial.partitions)
        led = {p.leader for p in trial.look().partitions.values()}
        slow = cluster.brokers[max(led)]
        slow.arm(FETCHING, "pause")
        shrunk = trial.wait_for(
            lambda view: all(slow.id not in p.isr for p in view.partitions.values() if p.leader != slow.id),
            f"an ISR without broker {slow.id}",
        )
        assert slow.id in shrunk.brokers, "its session lives"
        assert any(p.leader == slow.id for p in shrunk.partitions.values()), "it leads on"
        trial.workload.wait_for_progress(30)
        slow.arm(FETCHING, "off")
        trial.wait_until_in_sync()
    verdict = trial.judge(tmp_path)
    assert verdict.problems() == []
    assert verdict.acknowledged == verdict.sent
