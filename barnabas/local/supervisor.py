"""A supervisor of a local cluster: performs commands, and restarts processes that ended by themselves.

A broker that a command killed or stopped stays down until it is started. A broker that ended otherwise is
started again, and so is ZooKeeper, as `docker compose` does with ``restart: unless-stopped``. A broker that
keeps ending stays down; a ZooKeeper that keeps ending ends the cluster.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import BrokerProcess, live_process
from barnabas.local.cluster import READY_TIMEOUT_S, LocalCluster
from barnabas.local.control import BrokerState, BrokerStatus, ClusterStatus, command_for
from barnabas.local.errors import ClusterError

RESTARTS = 3
"""Restarts of a process within `RESTARTS_WINDOW_S` before it is given up."""

RESTARTS_WINDOW_S = 60.0
"""Seconds during which restarts are counted."""

_POLL_S = 0.05


class Restarts:
    """A count of recent restarts of each process, which allows `RESTARTS` within `RESTARTS_WINDOW_S`."""

    def __init__(self) -> None:
        self._at: dict[str, list[float]] = {}

    def allow(self, name: str, now: float) -> bool:
        """Return whether ``name`` may be started again at ``now``, in seconds; if so, count it."""
        recent = [at for at in self._at.get(name, []) if now - at < RESTARTS_WINDOW_S]
        allowed = len(recent) < RESTARTS
        self._at[name] = [*recent, now] if allowed else recent
        return allowed

    def forget(self, name: str) -> None:
        """Forget the restarts of ``name``."""
        self._at.pop(name, None)


class Supervisor:
    """A running cluster, its commands and its restarts; implements ``ClusterControl``.

    Commands may come on any thread. ``look_after`` and the cluster's own start belong on one thread that
    lives as long as the cluster.

    Args:
        cluster: A cluster that was started.
        say: Gets a line about each event.
        clock: Returns seconds.

    Attributes:
        down_requested: Set by the command ``down``.
        page: The address of the live page, for its status; empty if none is served.
    """

    def __init__(
        self,
        cluster: LocalCluster,
        say: Callable[[str], None] = lambda _line: None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._cluster = cluster
        self._say = say
        self._clock = clock
        self._lock = threading.Lock()
        self._held: dict[BrokerId, BrokerState] = {}
        """The brokers that stay as a command left them, or that were given up."""
        self._restarts = Restarts()
        self._elsewhere: set[int] = set()
        self.down_requested = threading.Event()
        self.page = ""

    def status(self) -> ClusterStatus:
        """Return the state of all processes; brokers are asked at the same time, for 2 s at most."""
        brokers = list(self._cluster.brokers.values())
        with ThreadPoolExecutor(min(len(brokers), 16), thread_name_prefix="status") as threads:
            found = tuple(threads.map(self._status_of, brokers))
        zookeeper = self._cluster.zookeeper
        return ClusterStatus(
            pid=os.getpid(),
            zookeeper=self._cluster.zookeeper_connect,
            zookeeper_pid=None if zookeeper is None else zookeeper.pid,
            brokers=found,
            page=self.page,
        )

    def _status_of(self, broker: BrokerProcess) -> BrokerStatus:
        with self._lock:
            held, pid = self._held.get(broker.id), broker.pid
        state, controller = held or BrokerState.ENDED, False
        if pid is not None and held is not BrokerState.PAUSED:
            serves, controller = broker.serving()
            state = BrokerState.RUNNING if serves else BrokerState.STARTING
        return BrokerStatus(
            id=broker.id,
            state=state,
            pid=pid,
            kafka=broker.kafka,
            metrics=broker.metrics,
            directory=str(broker.directory),
            controller=controller,
        )

    def processes(self) -> dict[BrokerId, BrokerState]:
        """Return the state of each broker's process, without asking the broker: never ``STARTING``."""
        with self._lock:
            return {broker.id: self._process_state(broker) for broker in self._cluster.brokers.values()}

    def _process_state(self, broker: BrokerProcess) -> BrokerState:
        held = self._held.get(broker.id)
        if broker.pid is None:
            return BrokerState.ENDED if held in {None, BrokerState.PAUSED} else held
        return BrokerState.PAUSED if held is BrokerState.PAUSED else BrokerState.RUNNING

    def kill(self, broker_id: BrokerId) -> None:
        """End a broker with SIGKILL; it stays down until ``start``.

        Raises:
            ClusterError: The broker is unknown, or does not run.
        """
        self._hold(broker_id, BrokerState.KILLED)
        self._cluster.kill(broker_id)
        self._say(f"broker {broker_id} was killed")

    def stop(self, broker_id: BrokerId) -> None:
        """Stop a broker cleanly; it stays down until ``start``.

        Raises:
            ClusterError: The broker is unknown, does not run, or did not end in time.
        """
        broker = self._hold(broker_id, BrokerState.STOPPED)
        broker.signal(signal.SIGCONT)
        self._cluster.terminate(broker_id)
        self._say(f"broker {broker_id} was stopped")

    def start(self, broker_id: BrokerId) -> None:
        """Start a broker that is down, and wait until it serves.

        Raises:
            ClusterError: The broker is unknown or runs already, ended, or does not serve in time.
        """
        broker = self._cluster.broker(broker_id)
        with self._lock:
            if broker.pid is not None:
                raise ClusterError(f"broker {broker_id} runs already, process {broker.pid}")
            self._restarts.forget(_name(broker))
            self._cluster.restart(broker_id, wait=False)
            self._held.pop(broker.id, None)
            pid = broker.pid
        deadline = self._clock() + READY_TIMEOUT_S
        while not broker.serving()[0]:
            if broker.pid != pid:
                raise ClusterError(
                    f"broker {broker_id} ended with {how(broker.exit_status)}: {broker.last_words()} "
                    f"(see {broker.console})"
                )
            if self._clock() > deadline:
                raise ClusterError(f"broker {broker_id} did not serve within {READY_TIMEOUT_S:g} s")
            time.sleep(_POLL_S)
        self._say(f"broker {broker_id} was started, process {pid}")

    def pause(self, broker_id: BrokerId) -> None:
        """Pause a broker with SIGSTOP, and wait until it stands still.

        Raises:
            ClusterError: The broker is unknown, does not run, or did not stop in time.
        """
        self._hold(broker_id, BrokerState.PAUSED)
        self._cluster.pause(broker_id)
        self._say(f"broker {broker_id} was paused")

    def resume(self, broker_id: BrokerId) -> None:
        """Resume a paused broker with SIGCONT.

        Raises:
            ClusterError: The broker is unknown, or does not run.
        """
        broker = self._running(broker_id)
        with self._lock:
            if self._held.get(broker.id) is BrokerState.PAUSED:
                del self._held[broker.id]
        self._cluster.resume(broker_id)
        self._say(f"broker {broker_id} was resumed")

    def down(self) -> int:
        """Request the end of the cluster, and return this process's id."""
        self.down_requested.set()
        return os.getpid()

    def look_after(self) -> None:
        """Start the processes that ended without a command. Call this a few times a second.

        Raises:
            ClusterError: ZooKeeper keeps ending.
            ZooKeeperStartError: ZooKeeper does not come up.
        """
        self._look_after_zookeeper()
        for broker in self._cluster.brokers.values():
            with self._lock:
                if broker.pid is None and self._held.get(broker.id) in {None, BrokerState.PAUSED}:
                    self._held.pop(broker.id, None)
                    self._bring_back(broker)

    def _bring_back(self, broker: BrokerProcess) -> None:
        elsewhere = live_process(broker.directory)
        if elsewhere is not None:
            if elsewhere not in self._elsewhere:
                self._elsewhere.add(elsewhere)
                self._say(f"broker {broker.id} runs as process {elsewhere}, which was started elsewhere")
            return
        ended = f"broker {broker.id} ended: {how(broker.exit_status)}"
        if self._restarts.allow(_name(broker), self._clock()):
            self._cluster.restart(broker.id, wait=False)
            self._say(f"{ended}; it was started again, process {broker.pid}")
        else:
            self._held[broker.id] = BrokerState.ENDED
            self._say(f"{ended}; it keeps ending and stays dead (see {broker.console})")

    def _look_after_zookeeper(self) -> None:
        zookeeper = self._cluster.zookeeper
        if zookeeper is None or zookeeper.pid is not None:
            return
        if not self._restarts.allow("zookeeper", self._clock()):
            raise ClusterError(f"ZooKeeper keeps ending; see {zookeeper.log_file}")
        self._say(f"ZooKeeper ended: {how(zookeeper.exit_status)}; starting it again")
        self._cluster.restart_zookeeper()
        self._say(f"ZooKeeper on {self._cluster.zookeeper_connect}, process {zookeeper.pid}")

    def _running(self, broker_id: BrokerId) -> BrokerProcess:
        broker = self._cluster.broker(broker_id)
        if broker.pid is None:
            start = command_for(self._cluster.directory, "start", str(broker_id))
            raise ClusterError(f"broker {broker_id} does not run; {start} starts it")
        return broker

    def _hold(self, broker_id: BrokerId, state: BrokerState) -> BrokerProcess:
        with self._lock:
            broker = self._running(broker_id)
            self._held[broker.id] = state
        return broker


def how(status: int | None) -> str:
    """Describe an exit status, which is negative for a signal."""
    if status is not None and status < 0:
        return f"killed by {signal.Signals(-status).name}"
    return f"exit status {status}"


def _name(broker: BrokerProcess) -> str:
    return f"broker-{broker.id}"
