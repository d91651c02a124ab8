"""A cluster of three real brokers on a real ZooKeeper, for one test or for a module's."""

from __future__ import annotations

import pytest

from barnabas.local.cluster import LocalCluster

OVERRIDES = {
    "failpoints.over.http": "true",
    "zookeeper.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "2000",
    # What a fault has moved stays where it is, or nobody could say what moved it.
    "auto.leader.rebalance.enable": "false",
}


@pytest.fixture
def cluster(tmp_path):
    with LocalCluster(tmp_path / "cluster", overrides=OVERRIDES) as running:
        yield running
