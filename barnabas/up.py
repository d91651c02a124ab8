"""``barnabas up``: a local cluster in the foreground."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from barnabas.cluster import READY_TIMEOUT_S, ClusterError, LocalCluster
from barnabas.ports import PortError
from barnabas.zookeeper_jars import ZooKeeperStartError
from cluster.model.ids import BrokerId

_LOOK_S = 0.2


def run(directory: Path, brokers: int, port: int) -> int:
    """Keep a cluster until SIGINT or SIGTERM comes; to be called on the main thread.

    Returns:
        The exit status: 0 after a signal, 1 where the cluster did not come up or ZooKeeper ended.
    """
    with _asked_to_stop() as asked:
        try:
            cluster = LocalCluster(directory, brokers, port)
        except PortError as error:
            return _fail(str(error))
        try:
            return _keep(cluster, asked)
        except (ClusterError, ZooKeeperStartError) as error:
            return _fail(str(error))
        finally:
            _say("stopping")
            for broker_id in cluster.stop():
                _say(f"broker {broker_id} did not end in time and was killed")


def _keep(cluster: LocalCluster, asked: threading.Event) -> int:
    began = time.monotonic()
    cluster.launch()
    cluster.wait_ready(READY_TIMEOUT_S, given_up=asked.is_set)
    if not asked.is_set():
        _say(f"ZooKeeper on {cluster.zookeeper_connect}")
        for broker in cluster.brokers.values():
            _say(f"broker {broker.id} on {broker.kafka}, process {broker.pid}, {broker.directory}")
        _say(f"ready after {time.monotonic() - began:.1f} s; bootstrap servers {cluster.bootstrap}")
        _say("Ctrl-C stops all of it")
    dead: set[BrokerId] = set()
    while not asked.wait(_LOOK_S):
        if cluster.zookeeper is not None and cluster.zookeeper.pid is None:
            return _fail(f"ZooKeeper ended by itself; see {cluster.zookeeper.log_file}")
        for broker in cluster.brokers.values():
            if broker.pid is None and broker.id not in dead:
                dead.add(broker.id)
                _say(f"broker {broker.id} ended: {_how(broker.exit_status)}; it is left dead")
                _say(f"  start it again with: {broker.command}")
                _say("  and stop it by hand afterwards: Ctrl-C here does not reach what you start by hand")
    return 0


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


@contextmanager
def _asked_to_stop() -> Iterator[threading.Event]:
    asked = threading.Event()
    before = {
        number: signal.signal(number, lambda _number, _frame: asked.set())
        for number in (signal.SIGINT, signal.SIGTERM)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    sys.stdout.write(f"barnabas: {text}\n")
    sys.stdout.flush()


def _fail(text: str) -> int:
    sys.stderr.write(f"barnabas: {text}\n")
    return 1
