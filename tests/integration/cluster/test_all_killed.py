"""What clients are told after all brokers were killed at once."""

from __future__ import annotations

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient
from kazoo.client import KazooClient

from barnabas.local.cluster import LocalCluster
from barnabas.local.observe import Observer
from barnabas.local.waiting import wait_until
from tests.clusters import FAULTS
from tests.logged import logged

ANSWER_S = 60.0
BROKER_ALONE = {"reconnect.backoff.ms": 10, "reconnect.backoff.max.ms": 50, "log_level": 0}


@pytest.fixture
def killed_and_back(cluster):
    """Three brokers that were killed and started again a moment ago; they led a topic ``killed``."""
    Observer(cluster.bootstrap).create_topic("killed", partitions=3)
    for broker_id in cluster.brokers:
        cluster.kill(broker_id)
    for broker_id in cluster.brokers:
        cluster.restart(broker_id, wait=False)
    return cluster


def test_no_broker_denies_a_topic_before_it_knows_which_there_are(killed_and_back):
    """librdkafka would believe it for five minutes, and fail what is written meanwhile."""
    answers = {broker_id: [] for broker_id in killed_and_back.brokers}

    def all_have_told_of_it():
        for broker_id, broker in killed_and_back.brokers.items():
            admin = AdminClient({"bootstrap.servers": broker.kafka, **BROKER_ALONE})
            try:
                (topic,) = admin.list_topics("killed", timeout=1.0).topics.values()
            except confluent_kafka.KafkaException:
                continue  # it does not answer yet
            answers[broker_id].append(topic.error or len(topic.partitions))
        return all(told and told[-1] == 3 for told in answers.values())

    wait_until(all_have_told_of_it, "an answer of each broker about its topic", ANSWER_S)
    assert {answer for told in answers.values() for answer in told} == {3}


@pytest.fixture
def with_topics_of_which_nobody_is_told(tmp_path, zk_connect):
    """Nodes of topics by hand: an illegal name, no partitions, no live replica, a mark for deletion."""
    with LocalCluster(tmp_path / "cluster", overrides=FAULTS, zookeeper=zk_connect) as cluster:
        create_nodes(cluster)
        yield cluster


def create_nodes(cluster):
    Observer(cluster.bootstrap).create_topic("orders", partitions=3)
    zk = KazooClient(cluster.zookeeper_connect)
    zk.start()
    try:
        for name, partitions in (("b@d", b'{"0":[1]}'), ("empty", b"{}"), ("homeless", b'{"0":[9]}')):
            zk.create(f"/brokers/topics/{name}", b'{"version":1,"partitions":%b}' % partitions)
        zk.create("/brokers/topics/spoiled", b"junk")
        zk.create("/admin/delete_topics/homeless")
    finally:
        zk.stop()
        zk.close()


def test_a_start_does_not_wait_for_topics_that_no_controller_announces(with_topics_of_which_nobody_is_told):
    cluster = with_topics_of_which_nobody_is_told
    for broker_id in cluster.brokers:
        cluster.kill(broker_id)
        cluster.restart(broker_id)
    for broker in cluster.brokers.values():
        assert "Serving clients, though" not in logged(broker.state_change_log.with_name("server.log"))
