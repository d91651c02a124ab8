"""The cluster of a bench: three brokers and an embedded ZooKeeper in a temporary directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from barnabas.local.client_login import ClientLogin
from barnabas.local.cluster import LocalCluster
from barnabas.local.secured import Secured, zookeeper_security

FAILOVER_SESSION_TIMEOUT_MS = 2_000
"""The ZooKeeper session timeout of the brokers in benches of failover."""


@contextmanager
def running_cluster(overrides: Mapping[str, str] | None = None) -> Iterator[LocalCluster]:
    """Run three brokers, and remove them afterwards.

    Args:
        overrides: Broker settings that differ from those of ``barnabas up``; the state-change log is at
            Kafka's own level, INFO, unless it is named here.
    """
    settings = {"state.change.log.level": "INFO", **(overrides or {})}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory,
        LocalCluster(Path(directory), overrides=settings) as cluster,
    ):
        yield cluster


@contextmanager
def secured_cluster() -> Iterator[tuple[LocalCluster, ClientLogin]]:
    """Run three brokers as ``barnabas up --secure`` does, and remove them afterwards.

    Gives the cluster and an administrator's login. Clients log in by SCRAM over TLS, brokers use mutual TLS,
    and an authorizer decides.
    """
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as name:
        directory = Path(name)
        secured = Secured(directory, 3)
        settings = {"state.change.log.level": "INFO", **secured.settings}
        cluster = LocalCluster(directory, overrides=settings, zookeeper_security=secured.zookeeper)
        secured.apply(cluster)
        cluster.restart_zookeeper()
        secured.provision(cluster.zookeeper_connect, zookeeper_security(cluster))
        with cluster:
            yield cluster, secured.admin


def broker_pids(cluster: LocalCluster) -> dict[str, int]:
    """Return the process id of each running broker, by ``broker <id>``."""
    return {
        f"broker {broker.id}": pid for broker in cluster.brokers.values() if (pid := broker.pid) is not None
    }
