"""A controlled shutdown while other replicas have not created their logs yet."""

from __future__ import annotations

from confluent_kafka.admin import AdminClient, NewTopic
from kazoo.client import KazooClient

from barnabas.local.cluster import LocalCluster
from barnabas.local.waiting import wait_until
from tests.logged import logged
from tests.metadata import isrs_of, partitions_of

OVERRIDES = {
    # Paused brokers keep their sessions, and the one that stops asks as often as by default.
    "zookeeper.session.timeout.ms": "40000",
    "controlled.shutdown.retry.backoff.ms": "300",
}
TOPIC = "orders"


def test_a_controlled_shutdown_leaves_no_isr_of_replicas_without_logs(tmp_path, zk_connect):
    """The controller stops right after a topic's creation, and the others die before they obey it.

    Had it shrunk the ISR to them, nobody could lead: their logs might be lost as well as never created.
    """
    with LocalCluster(tmp_path / "cluster", overrides=OVERRIDES, zookeeper=zk_connect) as cluster:
        leaving = cluster.controller_id()
        others = [id_ for id_ in cluster.brokers if id_ != leaving]
        for id_ in others:
            cluster.pause(id_)
        admin = AdminClient({"bootstrap.servers": cluster.brokers[leaving].kafka})
        assignment = [[leaving, *others], [others[0], leaving, others[1]]]
        admin.create_topics([NewTopic(TOPIC, 2, replica_assignment=assignment)])
        log = cluster.brokers[leaving].state_change_log
        wait_until(
            lambda: f"{TOPIC}-1 from NewPartition to OnlinePartition" in logged(log), f"{TOPIC} created"
        )
        cluster.terminate(leaving)
        zk = KazooClient(cluster.zookeeper_connect)
        zk.start()
        for id_ in others:
            cluster.kill(id_)
            zk.delete(f"/brokers/ids/{id_}")  # as the end of its session would
        zk.stop()
        zk.close()
        for id_ in cluster.brokers:
            cluster.restart(id_, wait=False)
        cluster.wait_ready()
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap})
        wait_until(
            lambda: all(set(p.isrs) == set(cluster.brokers) for p in partitions_of(admin, TOPIC).values()),
            "all replicas in sync",
            timeout_s=60,
            last=lambda: isrs_of(admin, TOPIC),
        )
