"""The API of ``barnabas.testing`` over containers."""

from __future__ import annotations

import pytest

from barnabas.testing import ClusterError


def test_a_leader_in_a_container_is_killed_and_replaced(image, monkeypatch):
    # Its image may not be at hand, and the with block removes what it starts.
    monkeypatch.setattr("testcontainers.core.config.testcontainers_config.ryuk_disabled", True)
    from barnabas.testing.containers import container_cluster  # noqa: PLC0415  # testcontainers reads its settings

    with container_cluster(3, image=image) as cluster:
        cluster.create_topic("orders")
        leader = cluster.leader_of("orders")
        with cluster.killed(leader):
            assert cluster.leader_of("orders") != leader
            assert cluster.state_of(leader) == "dead"
        assert cluster.wait_until_isr("orders") == {0: (1, 2, 3)}
        assert any(f"--- SIGKILL to broker {leader}" in line for line in cluster.story())
        with pytest.raises(ClusterError, match="links cannot be cut in containers"):
            cluster.partition(1, 2)
