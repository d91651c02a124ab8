"""``barnabas up``: run a local cluster in the foreground.

A broker that ends is not started again, so that users can watch the others take over. ZooKeeper is started
again on the same data, because without it no broker could take over.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import live_process
from barnabas.local.cluster import READY_TIMEOUT_S, ClusterError, LocalCluster
from barnabas.local.ports import PortError
from barnabas.local.zookeeper_jars import ZooKeeperStartError

_POLL_S = 0.2
"""Seconds between two checks of the processes."""

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""The signals that stop the cluster: those of Ctrl-C, of ``kill`` and of a terminal that is closed."""

ZOOKEEPER_RESTARTS = 3
"""Restarts of ZooKeeper within `RESTARTS_WINDOW_S` before the cluster is given up."""

RESTARTS_WINDOW_S = 60.0
"""Seconds during which restarts of ZooKeeper are counted."""


def run(directory: Path, brokers: int, port: int) -> int:
    """Run a cluster until SIGINT, SIGTERM or SIGHUP arrives. Call this on the main thread.

    Returns:
        The exit status: 0 after a signal; 1 if the cluster did not start or ZooKeeper keeps ending.
    """
    with _stop_requested() as stop:
        try:
            cluster = LocalCluster(directory, brokers, port)
        except PortError as error:
            _fail(str(error))
            _name_other_brokers(directory, brokers, sys.stderr)
            return 1
        try:
            return _run(cluster, stop)
        except (ClusterError, ZooKeeperStartError) as error:
            return _fail(str(error))
        finally:
            _say("stopping")
            started = [broker.id for broker in cluster.brokers.values() if broker.pid is not None]
            _name_other_brokers(directory, brokers, sys.stdout, started)
            for broker_id in cluster.stop():
                _say(f"broker {broker_id} did not end in time and was killed")


def _name_other_brokers(
    directory: Path, brokers: int, stream: TextIO, started: Collection[BrokerId] = ()
) -> None:
    """Print the brokers of ``directory`` that run but are not among ``started``."""
    for number in range(1, brokers + 1):
        pid = None if number in started else live_process(directory / f"broker-{number}")
        if pid is not None:
            _write(
                stream,
                f"broker {number} in {directory} was not started here and keeps running, process {pid}; "
                f"stop it with: kill {pid}",
            )


def _run(cluster: LocalCluster, stop: threading.Event) -> int:
    began = time.monotonic()
    cluster.launch()
    cluster.wait_ready(READY_TIMEOUT_S, given_up=stop.is_set)
    if not stop.is_set():
        _say(f"ZooKeeper on {cluster.zookeeper_connect}")
        for broker in cluster.brokers.values():
            _say(f"broker {broker.id} on {broker.kafka}, process {broker.pid}, {broker.directory}")
        _say(f"ready after {time.monotonic() - began:.1f} s; bootstrap servers {cluster.bootstrap}")
        _say("Ctrl-C stops the cluster")
    dead: set[BrokerId] = set()
    restarts: list[float] = []
    while not stop.wait(_POLL_S):
        if cluster.zookeeper is not None and cluster.zookeeper.pid is None:
            restarts = [at for at in restarts if time.monotonic() - at < RESTARTS_WINDOW_S]
            if len(restarts) == ZOOKEEPER_RESTARTS:
                return _fail(f"ZooKeeper keeps ending; see {cluster.zookeeper.log_file}")
            restarts.append(time.monotonic())
            _say(f"ZooKeeper ended: {_how(cluster.zookeeper.exit_status)}; starting it again")
            cluster.restart_zookeeper()
            _say(f"ZooKeeper on {cluster.zookeeper_connect}, process {cluster.zookeeper.pid}")
        for broker in cluster.brokers.values():
            if broker.pid is None and broker.id not in dead:
                dead.add(broker.id)
                _say(f"broker {broker.id} ended: {_how(broker.exit_status)}; it is not started again")
                _say(f"  start it again with: {broker.command}")
                _say("  and stop it yourself afterwards: Ctrl-C here does not stop a broker that you started")
    return 0


def _how(status: int | None) -> str:
    if status is not None and status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


@contextmanager
def _stop_requested() -> Iterator[threading.Event]:
    """Yield an event that each of `_STOPPING` sets; restore the former handlers afterwards."""
    stop = threading.Event()
    before = {
        number: signal.signal(number, lambda _number, _frame: stop.set())
        for number in _STOPPING
        # If `nohup` ignores SIGHUP, so does this process. A shell's `&` ignores SIGINT, but a SIGINT that
        # somebody sends to this process stops it.
        if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
    }
    try:
        yield stop
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    _write(sys.stdout, text)


def _fail(text: str) -> int:
    _write(sys.stderr, text)
    return 1


def _write(stream: TextIO, text: str) -> None:
    """Write a line. Ignore a closed terminal, because the cluster must still be stopped."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"barnabas: {text}\n")
        stream.flush()
