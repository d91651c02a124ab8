"""The clusters that ``pytest --barnabas-keep`` leaves open after a failed test."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable

from barnabas import page
from barnabas.testing.handle import AnyCluster


def leave_open(clusters: Iterable[AnyCluster], say: Callable[[str], None]) -> None:
    """Serve the page of each cluster, say where all of it is, and return at Ctrl-C.

    Args:
        clusters: The clusters, which run in this process.
        say: Gets each line.

    Raises:
        PageError: There is no free port for a page.
    """
    with contextlib.ExitStack() as pages:
        for cluster in clusters:
            where = f"watch it on {_watch(cluster, pages)}" if page.is_installed() else page.NEEDS
            say(f"barnabas: the cluster of the failed test is open: {where}")
            say(f"barnabas: bootstrap servers {cluster.bootstrap_servers}, ZooKeeper on {cluster.zookeeper}")
            say(f"barnabas: logs in {cluster.logs_at}")
        say("barnabas: Ctrl-C ends it")
        with contextlib.suppress(KeyboardInterrupt):
            threading.Event().wait()


def _watch(cluster: AnyCluster, pages: contextlib.ExitStack) -> str:
    """Serve the page of a cluster until the stack ends, and return its address."""
    from barnabas.page.controls import NoControls
    from barnabas.page.live import Source
    from barnabas.page.server import PageServer

    metrics_of = cluster._running.metrics_address  # noqa: SLF001  # tests need no metrics, so it has no other name
    source = Source(
        cluster.zookeeper,
        cluster.bootstrap_servers,
        {broker: metrics_of(broker) for broker in cluster.brokers},
        {broker: cluster.directory / f"broker-{broker}" / "logs" for broker in cluster.brokers},
    )
    return pages.enter_context(PageServer(source, NoControls(), out=cluster.directory / "report")).url
