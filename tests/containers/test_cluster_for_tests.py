"""The API of ``barnabas.testing`` over containers."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer

from barnabas.local.waiting import wait_until
from barnabas.testing import ClusterError


@pytest.fixture(scope="module")
def cluster(image):
    with pytest.MonkeyPatch.context() as patch:
        # Its image may not be at hand, and the with block removes what it starts.
        patch.setattr("testcontainers.core.config.testcontainers_config.ryuk_disabled", True)
        from barnabas.testing.containers import container_cluster  # noqa: PLC0415  # testcontainers reads its settings

        with container_cluster(3, image=image, settings={"log.flush.interval.messages": "1"}) as started:
            yield started


@pytest.fixture(autouse=True)
def restored(cluster):
    before = cluster.checkpoint()
    yield
    cluster.restore(before)


def write(cluster, topic, **settings):
    """Write a record, and return the error of its delivery, or None."""
    errors = []
    producer = Producer({"bootstrap.servers": cluster.bootstrap_servers, "acks": "all", **settings})
    producer.produce(topic, b"tea", on_delivery=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    return errors[0]


def test_a_leader_in_a_container_is_killed_and_replaced(cluster):
    cluster.create_topic("orders")
    leader = cluster.leader_of("orders")
    with cluster.killed(leader):
        assert cluster.leader_of("orders") != leader
        assert cluster.state_of(leader) == "dead"
        assert write(cluster, "orders") is None
    assert cluster.wait_until_isr("orders") == {0: (1, 2, 3)}
    assert any(f"--- SIGKILL to broker {leader}" in line for line in cluster.story())


def test_a_broker_is_stopped_and_paused(cluster):
    cluster.create_topic("orders", assignment={0: [1, 2, 3]})
    with cluster.terminated(1):
        assert cluster.wait_until_led("orders", 0, by=2) == {0: 2}
    with cluster.paused(2):
        assert cluster.wait_until_isr("orders", 0, isr=[1, 3]) == {0: (1, 3)}
    assert cluster.wait_until_isr("orders") == {0: (1, 2, 3)}


def test_a_session_is_expired(cluster):
    cluster.create_topic("orders", assignment={0: [2, 1, 3]})
    cluster.expire_session(2)
    assert cluster.wait_until_isr("orders", 0) == {0: (1, 2, 3)}
    assert any("expire the ZooKeeper session of broker 2" in line for line in cluster.story())


def test_a_leader_is_cut_off_from_zookeeper_and_the_others(cluster):
    cluster.create_topic("orders", assignment={0: [1, 2, 3]})
    with cluster.partitioned(1, 2, 3, "zookeeper"):
        cluster.wait_until_led("orders", 0, by=2)
        # Clients reach broker 1, too, which takes itself for the leader. A producer that asks it for metadata
        # first stays with it: librdkafka does not ask again when its requests time out.
        _, *others = cluster.bootstrap_servers.split(",")
        assert write(cluster, "orders", **{"bootstrap.servers": ",".join(others)}) is None
    assert cluster.wait_until_isr("orders") == {0: (1, 2, 3)}


def test_clients_are_refused_and_slowed_down(cluster):
    cluster.create_topic("orders", assignment={0: [3, 1, 2]})
    cluster.partition("clients", 3, refuse=True)
    assert "Local: Message timed out" in str(write(cluster, "orders", **{"message.timeout.ms": 1500}))
    cluster.heal()
    cluster.slow("clients", 3, delay_ms=700, one_way=True)
    late = write(
        cluster, "orders", **{"message.timeout.ms": 600, "bootstrap.servers": cluster.bootstrap_servers}
    )
    assert "Local: Message timed out" in str(late)
    cluster.heal()
    assert write(cluster, "orders") is None


def test_a_disk_is_full_also_after_a_restart_until_it_is_freed(cluster):
    cluster.create_topic("orders", assignment={0: [1, 2, 3]})
    cluster.fill_disk(1)
    assert write(cluster, "orders") is None  # the next leader takes it
    # A broker whose only disk has failed gives up its leaderships before it ends.
    wait_until(lambda: cluster.state_of(1) == "dead", "the end of broker 1")
    cluster.wait_until_led("orders", 0, by=2)
    with pytest.raises(ClusterError, match="broker 1 ended"):
        cluster.start(1)
    cluster.free_disk(1)
    cluster.start(1)
    assert cluster.wait_until_isr("orders") == {0: (1, 2, 3)}


def test_the_files_are_not_on_this_machine(cluster):
    with pytest.raises(ClusterError, match="the logs are in /var/lib/barnabas/logs in the containers"):
        _ = cluster.directory
