"""``barnabas up``: a local cluster in the foreground.

A broker that ends is left dead: to see what the others do is what the cluster is for. ZooKeeper is started
again, on the same data: without it nothing of that can be seen.
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

_LOOK_S = 0.2

_STOPPING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""What stops the cluster: Ctrl-C, ``kill``, and a terminal that is closed."""

ZOOKEEPER_RESTARTS = 3
"""How often ZooKeeper is started again within `RESTARTS_WINDOW_S`; one that ends more often cannot run."""

RESTARTS_WINDOW_S = 60.0


def run(directory: Path, brokers: int, port: int) -> int:
    """Keep a cluster until SIGINT, SIGTERM or SIGHUP comes; to be called on the main thread.

    Returns:
        The exit status: 0 after a signal, 1 where the cluster did not come up or ZooKeeper ends again and
        again.
    """
    with _asked_to_stop() as asked:
        try:
            cluster = LocalCluster(directory, brokers, port)
        except PortError as error:
            _fail(str(error))
            _name_strangers(directory, brokers, sys.stderr)
            return 1
        try:
            return _keep(cluster, asked)
        except (ClusterError, ZooKeeperStartError) as error:
            return _fail(str(error))
        finally:
            _say("stopping")
            started = [broker.id for broker in cluster.brokers.values() if broker.pid is not None]
            _name_strangers(directory, brokers, sys.stdout, started)
            for broker_id in cluster.stop():
                _say(f"broker {broker_id} did not end in time and was killed")


def _name_strangers(
    directory: Path, brokers: int, stream: TextIO, started: Collection[BrokerId] = ()
) -> None:
    """Name the brokers of ``directory`` that run and are not among those ``started`` here."""
    for number in range(1, brokers + 1):
        pid = None if number in started else live_process(directory / f"broker-{number}")
        if pid is not None:
            _write(
                stream,
                f"broker {number} in {directory} was not started here and goes on, process {pid}; "
                f"stop it with: kill {pid}",
            )


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
    restarts: list[float] = []
    while not asked.wait(_LOOK_S):
        if cluster.zookeeper is not None and cluster.zookeeper.pid is None:
            restarts = [at for at in restarts if time.monotonic() - at < RESTARTS_WINDOW_S]
            if len(restarts) == ZOOKEEPER_RESTARTS:
                return _fail(f"ZooKeeper ends again and again; see {cluster.zookeeper.log_file}")
            restarts.append(time.monotonic())
            _say(f"ZooKeeper ended: {_how(cluster.zookeeper.exit_status)}; starting it again")
            cluster.restart_zookeeper()
            _say(f"ZooKeeper on {cluster.zookeeper_connect}, process {cluster.zookeeper.pid}")
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
        for number in _STOPPING
        # Under `nohup` a closed terminal is no reason to stop. A shell's `&` ignores SIGINT too, but whoever
        # sends that one to this process means it.
        if not (number == signal.SIGHUP and signal.getsignal(number) is signal.SIG_IGN)
    }
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _say(text: str) -> None:
    _write(sys.stdout, text)


def _fail(text: str) -> int:
    _write(sys.stderr, text)
    return 1


def _write(stream: TextIO, text: str) -> None:
    """Write a line, to a terminal that may be closed: that must not keep the cluster from being stopped."""
    with contextlib.suppress(OSError, ValueError):
        stream.write(f"barnabas: {text}\n")
        stream.flush()
