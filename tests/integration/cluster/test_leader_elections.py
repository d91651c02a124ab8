"""Leaders that are elected by script, by znode, by a changed setting and by themselves, on real processes."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import confluent_kafka
import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer
from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.zk.schema import admin, paths
from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.metadata import partitions_of

SCRIPT = Path(__file__).parents[3] / "scripts" / "kafka-leader-election.sh"
SETTINGS = {"zookeeper.session.timeout.ms": "3000", "replica.lag.time.max.ms": "1000"}
DEADLINE_S = 90


class Stage:
    """A cluster, with what is asked of it here."""

    def __init__(self, cluster):
        self.cluster = cluster
        self.admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        self.controller = cluster.controller_id()
        self.preferred, self.other = [id_ for id_ in cluster.brokers if id_ != self.controller]

    def create(self, topic, replicas, **config):
        new = NewTopic(topic, len(replicas), replica_assignment=replicas, config=config)
        self.admin.create_topics([new])[topic].result(90)

    def partition(self, topic, number=0):
        return partitions_of(self.admin, topic)[number]

    def until_led(self, topic, leader, isr=None):
        def is_led():
            now = self.partition(topic)
            return now.leader == leader and (isr is None or set(now.isrs) == set(isr))

        wait_until(is_led, f"broker {leader} leads {topic} with ISR {isr}")

    def elect(self, *arguments):
        """The exit code and what was printed."""
        command = [SCRIPT, "--bootstrap-server", self.cluster.bootstrap, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def stage(tmp_path_factory, new_chroot):
    """Topics prefer the broker that neither is the controller nor stays: it was killed and is back."""
    overrides = {**SETTINGS, "auto.leader.rebalance.enable": "false", "delete.topic.enable": "false"}
    directory = tmp_path_factory.mktemp("elections") / "cluster"
    with LocalCluster(directory, overrides=overrides, zookeeper=new_chroot()) as cluster:
        stage = Stage(cluster)
        away, other = stage.preferred, stage.other
        for topic in ("script", "znode"):
            stage.create(topic, [[away, other]])
        for topic in ("by-setting", "by-request"):
            stage.create(topic, [[away, other]])
        producer = Producer({"bootstrap.servers": cluster.bootstrap, "acks": "all"})
        for topic in ("by-setting", "by-request"):
            producer.produce(topic, b"both have it", partition=0)
        assert producer.flush(90) == 0
        yield stage


@pytest.fixture(scope="module")
def zk(stage):
    client = KazooClient(stage.cluster.zookeeper_connect)
    client.start(timeout=90)
    yield client
    client.stop()
    client.close()


def test_by_script_after_the_preferred_replica_has_returned(stage):
    away, other = stage.preferred, stage.other
    stage.cluster.kill(away)
    stage.until_led("script", other, [other])
    code, printed, complaint = stage.elect(
        "--election-type", "preferred", "--topic", "script", "--partition", "0"
    )
    assert code == 1
    assert complaint == "kafka-leader-election.sh: 1 replica(s) could not be elected\n"
    assert printed.startswith(
        "Error completing leader election (PREFERRED) for partition: script-0: "
        "org.apache.kafka.common.errors.PreferredLeaderNotAvailableException"
    )
    assert "1 replica(s) could not be elected" in complaint
    stage.cluster.restart(away)
    stage.until_led("script", other, [away, other])
    one = ("--election-type", "preferred", "--topic", "script", "--partition", "0")
    done = "Successfully completed leader election (PREFERRED) for partitions script-0\n"
    assert stage.elect(*one) == (0, done, "")
    stage.until_led("script", away)
    assert stage.elect(*one) == (0, "Valid replica already elected for partitions script-0\n", "")


def test_by_znode(stage, zk):
    stage.until_led("znode", stage.other, [stage.preferred, stage.other])
    body = admin.encode_partitions([TopicPartition("znode", 0), TopicPartition("nowhere", 0)])
    zk.create(paths.PREFERRED_REPLICA_ELECTION, body)
    stage.until_led("znode", stage.preferred)
    wait_until(lambda: zk.exists(paths.PREFERRED_REPLICA_ELECTION) is None, "the znode is deleted")


def test_no_topic_is_deleted_where_that_is_disabled(stage, zk):
    """``delete.topic.enable=false``: the request is refused, a mark that a person leaves is taken away."""
    with pytest.raises(KafkaException) as refusal:
        stage.admin.delete_topics(["znode"])["znode"].result(DEADLINE_S)
    assert refusal.value.args[0].code() == KafkaError.TOPIC_DELETION_DISABLED
    zk.create(paths.delete_topic("znode"))
    wait_until(lambda: zk.exists(paths.delete_topic("znode")) is None, "the mark is gone")
    assert zk.exists(paths.topic("znode")) is not None
    stage.until_led("znode", stage.preferred, [stage.preferred, stage.other])


def test_unclean_by_a_changed_setting_and_by_request(stage):
    """The last in-sync replica dies; the other one, which missed records, may lead only when told so."""
    away, other = stage.preferred, stage.other
    cluster, both = stage.cluster, ("by-setting", "by-request")
    for topic in both:
        stage.until_led(topic, other, [away, other])
    cluster.kill(away)
    for topic in both:
        stage.until_led(topic, other, [other])
    cluster.kill(other)
    for topic in both:
        stage.until_led(topic, -1)
    cluster.restart(away, wait=False)
    wait_until(lambda: cluster.brokers[away].gauges().get("barnabas_live_brokers") == 2, "it is back")
    assert {stage.partition(topic).leader for topic in both} == {-1}

    configs = Path(__file__).parents[3] / "scripts" / "kafka-configs.sh"
    setting = "unclean.leader.election.enable=true"
    alter = ["--alter", "--entity-type", "topics", "--entity-name", "by-setting", "--add-config", setting]
    command = [configs, "--bootstrap-server", cluster.bootstrap, *alter]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr
    stage.until_led("by-setting", away, [away])
    assert stage.partition("by-request").leader == -1

    done = "Successfully completed leader election (UNCLEAN) for partitions by-request-0\n"
    one = ("--election-type", "unclean", "--topic", "by-request", "--partition", "0")
    assert stage.elect(*one) == (0, done, "")
    stage.until_led("by-request", away, [away])
    gauge = "kafka_controller_ControllerStats_UncleanLeaderElectionsPerSec_total"
    assert cluster.brokers[stage.controller].gauges()[gauge] == 2
    assert read_one("by-request", cluster.bootstrap) == b"both have it"


def test_one_asked_for_while_nobody_acts_is_held_by_the_next_controller(stage, zk):
    cluster, tp = stage.cluster, TopicPartition("pending", 0)
    cluster.restart(stage.other)
    controller = cluster.controller_id()
    first, second = [id_ for id_ in cluster.brokers if id_ != controller]
    stage.create("pending", [[first, second]])
    stage.until_led("pending", first, [first, second])
    zk.create(paths.REASSIGN_PARTITIONS, admin.encode_reassignment({tp: (second, first)}))
    wait_until(lambda: zk.exists(paths.REASSIGN_PARTITIONS) is None, "the other order")
    reign = int(zk.get(paths.CONTROLLER_EPOCH)[0])
    cluster.pause(controller)
    try:
        # Nobody watches it: the one who would does not run, and the others are no controllers.
        zk.create(paths.PREFERRED_REPLICA_ELECTION, admin.encode_partitions([tp]))
        wait_until(lambda: zk.exists(paths.PREFERRED_REPLICA_ELECTION) is None, "it is held")
        state = json.loads(zk.get(paths.partition_state(tp))[0])
        assert state["leader"] == second
        assert state["controller_epoch"] > reign
    finally:
        cluster.resume(controller)


def read_one(topic, servers):
    """The first record of a topic."""
    settings = {"bootstrap.servers": servers, "group.id": "readers", "enable.auto.commit": "false"}
    consumer = Consumer(settings)
    try:
        consumer.assign([confluent_kafka.TopicPartition(topic, 0, 0)])
        message = consumer.poll(90)
        return None if message is None else message.value()
    finally:
        consumer.close()


def test_leaders_come_home_by_themselves(tmp_path, zk_connect):
    overrides = {**SETTINGS, "leader.imbalance.check.interval.seconds": "1"}
    with LocalCluster(tmp_path / "cluster", overrides=overrides, zookeeper=zk_connect) as cluster:
        stage = Stage(cluster)
        away, other = stage.preferred, stage.other
        stage.create("home", [[away, other]])
        imbalance = "kafka_controller_KafkaController_PreferredReplicaImbalanceCount"
        controller = cluster.brokers[stage.controller]
        cluster.kill(away)
        stage.until_led("home", other, [other])
        wait_until(lambda: controller.gauge(imbalance) == 1, "the imbalance is counted")
        cluster.restart(away)
        stage.until_led("home", away, [away, other])
        wait_until(lambda: controller.gauge(imbalance) == 0, "the balance is counted")
        assert "triggered by AutoTriggered" in (controller.dir / "logs" / "console.log").read_text()
