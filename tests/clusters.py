"""Clusters that test modules share: starting one costs more than what most tests do with it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.local.cluster import LocalCluster

AT_MOST = 3
"""How many shared clusters run at once in one worker; an idle one needs little but memory."""

LOGS_AND_GROUPS = {
    # Groups rebalance at once and may have short sessions.
    "group.initial.rebalance.delay.ms": "0",
    "group.min.session.timeout.ms": "1000",
    "offsets.topic.num.partitions": "3",
    "min.insync.replicas": "2",
    # Old segments are deleted and compacted soon.
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "500",
    "log.index.size.max.bytes": "4096",
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "2000000",
}
"""The settings of the cluster of all modules that need none of their own."""

FAULTS = {
    "failpoints.over.http": "true",
    "zookeeper.session.timeout.ms": "3000",
    "replica.lag.time.max.ms": "2000",
    # What a fault has moved stays where it is, or nobody could say what moved it.
    "auto.leader.rebalance.enable": "false",
}
"""The settings of the cluster whose brokers are killed, and whose fetchers are held up."""


class SharedClusters:
    """The running clusters of one worker, by number of brokers and settings.

    Tests use topics and groups of names of their own, and take back what they set for a broker or for all.

    Args:
        new_chroot: Returns a connect string with a chroot that nothing else uses.
        new_directory: Returns an empty directory.
    """

    def __init__(self, new_chroot: Callable[[], str], new_directory: Callable[[], Path]) -> None:
        self._new_chroot, self._new_directory = new_chroot, new_directory
        self._running: dict[tuple[int, frozenset[tuple[str, str]]], LocalCluster] = {}

    @contextmanager
    def lent(
        self, session: pytest.Session, overrides: Mapping[str, str], brokers: int = 3
    ) -> Iterator[LocalCluster]:
        """Lend a cluster with these settings and all brokers alive, and stop it if a test fails.

        If `AT_MOST` others run, the one that was lent longest ago is stopped for a new one.
        """
        key, failed = (brokers, frozenset(overrides.items())), session.testsfailed
        cluster = self._running.pop(key, None)
        if cluster is None:
            if len(self._running) == AT_MOST:
                self._running.pop(next(iter(self._running))).stop()
            cluster = LocalCluster(
                self._new_directory(), brokers, overrides=overrides, zookeeper=self._new_chroot()
            )
            cluster.start()
        self._running[key] = cluster
        for broker in cluster.brokers.values():
            if broker.pid is None:
                cluster.restart(broker.id, wait=False)
        cluster.wait_ready()
        yield cluster
        if session.testsfailed != failed:
            self._running.pop(key).stop()

    def stop(self) -> None:
        """Stop all clusters."""
        for cluster in self._running.values():
            cluster.stop()
