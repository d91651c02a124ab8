"""A broker whose ZooKeeper session ends while it lives."""

from __future__ import annotations

import time

import pytest

from barnabas.broker_process import SESSION_TIMEOUT_MS
from barnabas.cluster import LocalCluster


@pytest.fixture
def cluster(tmp_path, zk_connect):
    with LocalCluster(tmp_path, zookeeper=zk_connect) as cluster:
        yield cluster


def registered_epochs(broker):
    """The epochs under which a broker has registered, oldest first, as its server.log has them."""
    log = (broker.directory / "logs" / "server.log").read_text()
    return [
        int(line.split("(broker epoch): ")[1].split()[0])
        for line in log.splitlines()
        if "Registered broker" in line
    ]


def test_a_controller_held_past_its_session_resigns_and_comes_back_as_another_life(cluster):
    former = cluster.controller_id()
    cluster.pause(former)
    others = [broker for broker in cluster.brokers.values() if broker.id != former]
    deadline = time.monotonic() + 30
    while not any(b.gauge("kafka_controller_KafkaController_ActiveControllerCount") == 1 for b in others):
        assert time.monotonic() < deadline, (
            f"nobody took over within {SESSION_TIMEOUT_MS} ms and some patience"
        )
        time.sleep(0.05)
    cluster.resume(former)
    while len(registered_epochs(cluster.brokers[former])) < 2:
        assert time.monotonic() < deadline, "the former controller did not register again"
        time.sleep(0.05)
    cluster.wait_ready()
    before, after = registered_epochs(cluster.brokers[former])
    assert after > before
    assert cluster.controller_id() != former
    assert (
        "resigned as the controller"
        in (cluster.brokers[former].directory / "logs" / "server.log").read_text()
    )
