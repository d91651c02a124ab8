"""One test for each kind of fault that is not in the other recipes."""

from __future__ import annotations

import signal

import pytest
from confluent_kafka import KafkaException, Producer

from barnabas.local.forks import ForkedProcess
from barnabas.local.pausing import pause
from barnabas.testing import Cluster, RefusedError, UnknownBrokerError, WaitTimeoutError


def write(bootstrap_servers: str, timeout_ms: int = 30_000) -> None:
    """Write a record, and raise ``KafkaException`` if it is not acknowledged in time."""
    outcome = []
    producer = Producer(
        {"bootstrap.servers": bootstrap_servers, "acks": "all", "message.timeout.ms": timeout_ms}
    )
    producer.produce("orders", b"x", on_delivery=lambda error, _: outcome.append(error))
    producer.flush()
    (error,) = outcome
    if error is not None:
        raise KafkaException(error)


@pytest.fixture
def cluster(barnabas_cluster: Cluster) -> Cluster:
    barnabas_cluster.create_topic("orders")
    return barnabas_cluster


def test_a_broker_that_is_stopped_cleanly_hands_over_first(cluster):
    leader = cluster.leader_of("orders")
    with cluster.terminated(leader):
        assert cluster.leader_of("orders", timeout_s=0) != leader  # nobody had to wait for a session's end
        write(cluster.bootstrap_servers)


def test_a_follower_that_its_leader_cannot_reach_leaves_the_isr(cluster):
    leader, follower, other = cluster.replicas_of("orders")
    with cluster.partitioned(leader, follower):
        write(cluster.bootstrap_servers)
        cluster.wait_until_isr("orders", isr=[leader, other])
        assert cluster.state().brokers == (1, 2, 3)  # ZooKeeper sees nothing of it
    cluster.wait_until_isr("orders")


def test_a_broker_that_is_cut_off_from_all_is_replaced(cluster):
    leader = cluster.leader_of("orders")
    others = set(cluster.brokers) - {leader}
    with cluster.partitioned(leader, "zookeeper", "clients", *others):
        cluster.wait_until_isr("orders", isr=others)
        write(cluster.bootstrap_servers)
    cluster.wait_until_isr("orders")


def test_clients_that_cannot_reach_a_broker_time_out(cluster):
    leader = cluster.leader_of("orders")
    cluster.partition("clients", leader)
    with pytest.raises(KafkaException, match="_MSG_TIMED_OUT"):
        write(cluster.bootstrap_servers, timeout_ms=2_000)
    cluster.heal()
    write(cluster.bootstrap_servers)


def test_a_slow_link_delays_and_loses_nothing(cluster):
    cluster.slow("clients", *cluster.brokers, delay_ms=50)
    write(cluster.bootstrap_servers)


def test_a_link_that_is_cut_stays_slow(cluster):
    cluster.slow(1, 2, delay_ms=50)
    cluster.partition(1, 2)
    with pytest.raises(WaitTimeoutError, match=r"1 -> 2: cut, 50 ms later; 2 -> 1: cut, 50 ms later"):
        cluster.wait_until_isr("orders", isr=[1], timeout_s=0)


def test_a_fault_that_would_change_nothing_is_refused(cluster):
    with pytest.raises(ValueError, match="name at least one other node than broker 1"):
        cluster.partition(1)
    with pytest.raises(ValueError, match="slow needs delay_ms or bytes_per_second"):
        cluster.slow(1, 2)
    with pytest.raises(ValueError, match="bytes_per_second is 0, expected more than 0"):
        cluster.slow(1, 2, bytes_per_second=0)


def test_waits_for_a_silent_broker_end(cluster):
    broker = ForkedProcess(int((cluster.directory / "broker-1" / "broker.pid").read_text()))
    pause(broker)  # the cluster knows nothing of it
    try:
        with pytest.raises(WaitTimeoutError, match=r"list topics and groups: not within 0\.2 s"):
            cluster.checkpoint(timeout_s=0.2)
    finally:
        broker.send_signal(signal.SIGCONT)
    with pytest.raises(WaitTimeoutError, match="broker 1 ends after SIGTERM: not within 0 s; broker 1 is"):
        cluster.terminate(1, timeout_s=0)


def test_a_controller_whose_session_expires_is_replaced_or_elected_again(cluster):
    epoch_before = cluster.story()
    cluster.expire_session(cluster.controller_id())
    cluster.wait_until_isr("orders")
    assert cluster.controller_id() in cluster.brokers
    assert len(cluster.story()) > len(epoch_before)


def test_a_full_disk_ends_the_leader_and_the_others_go_on(cluster):
    leader = cluster.leader_of("orders")
    with cluster.disk_filled(leader):
        write(cluster.bootstrap_servers)
        assert cluster.leader_of("orders") != leader
    cluster.wait_until_isr("orders")


def test_errors_name_what_there_is(cluster):
    with pytest.raises(UnknownBrokerError, match="there is no broker 9; there are 1, 2, 3"):
        cluster.kill(9)
    with pytest.raises(UnknownBrokerError, match="there is no broker 9; there are 1, 2, 3"):
        cluster.wait_until_isr("orders", isr=[1, 9])
    with pytest.raises(UnknownBrokerError, match="there is no broker 9; there are 1, 2, 3"):
        cluster.wait_until_led("orders", by=9)
    with pytest.raises(RefusedError, match="INVALID_REPLICATION_FACTOR"):
        cluster.create_topic("many", replication_factor=9)
    with pytest.raises(WaitTimeoutError, match=r"orders-0: leader \d, ISR 1,2,3 of"):
        cluster.wait_until_isr("orders", isr=[1], timeout_s=0)
