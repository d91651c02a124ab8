"""What tests on real processes share."""

from __future__ import annotations

import confluent_kafka.admin
import pytest

from barnabas.cluster import LocalCluster


@pytest.fixture(scope="module")
def cluster(request, tmp_path_factory):
    """Three brokers on a real ZooKeeper for a whole module, with the ``OVERRIDES`` that the module names."""
    overrides = getattr(request.module, "OVERRIDES", {})
    with LocalCluster(tmp_path_factory.mktemp("module") / "cluster", overrides=overrides) as running:
        yield running


@pytest.fixture(scope="module")
def admin(cluster):
    """librdkafka's admin client of that cluster."""
    return confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
