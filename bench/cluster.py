"""The cluster of a bench: three brokers and an embedded ZooKeeper in a temporary directory."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from barnabas.local.cluster import LocalCluster

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


def broker_pids(cluster: LocalCluster) -> dict[str, int]:
    """Return the process id of each running broker, by ``broker <id>``."""
    return {
        f"broker {broker.id}": pid for broker in cluster.brokers.values() if (pid := broker.pid) is not None
    }
