"""The clusters that ``pytest --barnabas-keep`` leaves open after a failed test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

from barnabas.page.controls import NoControls
from barnabas.page.live import Source
from barnabas.page.server import PageServer
from barnabas.testing.handle import Facts


def leave_open(clusters: Iterable[Facts], say: Callable[[str], None]) -> None:
    """Serve the page of each cluster, say where all of it is, and return at Ctrl-C.

    Args:
        clusters: The clusters, which run in this process.
        say: Gets each line.

    Raises:
        PageError: There is no free port for a page.
    """
    with contextlib.ExitStack() as pages:
        for cluster in clusters:
            page = pages.enter_context(
                PageServer(source_of(cluster), NoControls(), out=cluster.directory / "report")
            )
            say(f"barnabas: the cluster of the failed test is open: watch it on {page.url}")
            say(f"barnabas: bootstrap servers {cluster.bootstrap_servers}, ZooKeeper on {cluster.zookeeper}")
            say(f"barnabas: logs in {cluster.logs_at}")
        say("barnabas: Ctrl-C ends it")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def source_of(cluster: Facts) -> Source:
    """Return what the page of a cluster shows."""
    metrics_of = cluster._running.metrics_address  # noqa: SLF001  # tests need no metrics, so it has no other name
    return Source(
        cluster.zookeeper,
        cluster.bootstrap_servers,
        {broker: metrics_of(broker) for broker in cluster.brokers},
        {broker: cluster.directory / f"broker-{broker}" / "logs" for broker in cluster.brokers},
    )
