"""A broker whose ZooKeeper session ends while it lives."""

from __future__ import annotations

from barnabas.local.waiting import wait_until
from tests.logged import logged


def registered_epochs(broker):
    """The epochs under which a broker has registered, oldest first, as its server.log has them."""
    log = logged(broker.directory / "logs" / "server.log")
    return [
        int(line.split("(broker epoch): ")[1].split()[0])
        for line in log.splitlines()
        if "Registered broker" in line
    ]


def test_a_controller_held_past_its_session_resigns_and_comes_back_as_another_life(cluster):
    former = cluster.controller_id()
    registered = len(registered_epochs(cluster.brokers[former]))
    cluster.pause(former)
    others = [broker for broker in cluster.brokers.values() if broker.id != former]
    reigns = "kafka_controller_KafkaController_ActiveControllerCount"
    wait_until(lambda: any(broker.gauge(reigns) == 1 for broker in others), "another controller")
    cluster.resume(former)
    wait_until(
        lambda: len(registered_epochs(cluster.brokers[former])) > registered,
        "another registration of the former one",
    )
    cluster.wait_ready()
    epochs = registered_epochs(cluster.brokers[former])
    assert len(epochs) == registered + 1
    assert epochs == sorted(set(epochs))
    assert cluster.controller_id() != former
    assert "resigned as the controller" in logged(cluster.brokers[former].directory / "logs" / "server.log")
