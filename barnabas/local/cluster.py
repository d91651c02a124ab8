"""A cluster on this machine: an embedded ZooKeeper and brokers, each a process.

>>> with LocalCluster(directory) as cluster:
...     cluster.kill(cluster.controller_id())

The methods block. Several threads may call them, if each broker is handled by one thread.
"""

from __future__ import annotations

import contextlib
import json
import signal
import time
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.broker_process import CONTROLLERS, RUNNING, SESSION_TIMEOUT_MS, STATE, BrokerProcess
from barnabas.local.children import Children
from barnabas.local.errors import ClusterError
from barnabas.local.place import HERE, Place
from barnabas.local.ports import any_free, derived
from barnabas.local.zookeeper import EmbeddedZooKeeper
from barnabas.local.zookeeper_security import UNSECURED, ServerSecurity

CLUSTER_FILE = "cluster.json"

READY_TIMEOUT_S = 60.0
"""The timeout of a start in seconds, which is generous for busy machines."""
_STOP_BROKERS_S = 6.0
_STOP_ZOOKEEPER_S = 2.0
_KILL_S = 10.0
_POLL_S = 0.05

_LIVE = "barnabas_live_brokers"


class LocalCluster:
    """ZooKeeper and brokers 1 … n under one directory.

    In a directory that was used before, brokers keep their data.

    Args:
        directory: The folder for all files, which is created if it does not exist.
        brokers: The number of brokers.
        port: The first broker's port for clients (see `barnabas.local.ports.derived`); 0 takes any free ones.
        overrides: Settings for every broker's server.properties.
        zookeeper: The connect string of a running ZooKeeper; None to run an embedded one.
        places: The places of ``zookeeper``, ``broker-1``, ``broker-2``, …, if other than loopback.
        children: The starter of the brokers' processes, which ``stop`` closes; None for one of its own.
        zookeeper_security: Who may connect to the embedded ZooKeeper; brokers get the settings for it.
        force_sync: Whether the embedded ZooKeeper has a write on the disk before it acknowledges it.

    Attributes:
        brokers: The brokers by id.

    Raises:
        PortError: The ports are not available.
    """

    def __init__(
        self,
        directory: Path | str,
        brokers: int = 3,
        port: int = 0,
        overrides: Mapping[str, str] | None = None,
        zookeeper: str | None = None,
        *,
        places: Mapping[str, Place] | None = None,
        children: Children | None = None,
        zookeeper_security: ServerSecurity = UNSECURED,
        force_sync: bool = True,
    ) -> None:
        self.directory = Path(directory).resolve()
        self._children = children or Children()
        self._overrides = dict(overrides or {})
        places = places or {}
        ports = derived(port, brokers) if port else any_free(brokers)
        self.brokers: dict[BrokerId, BrokerProcess] = {
            BrokerId(n): BrokerProcess(
                BrokerId(n),
                self.directory / f"broker-{n}",
                each,
                self._children,
                places.get(f"broker-{n}", HERE),
            )
            for n, each in enumerate(ports.brokers, start=1)
        }
        self.zookeeper: EmbeddedZooKeeper | None = None
        if zookeeper is None:
            self.zookeeper = EmbeddedZooKeeper(
                self.directory / "zookeeper",
                ports.zookeeper,
                place=places.get("zookeeper", HERE),
                security=zookeeper_security,
                force_sync=force_sync,
            )
            zookeeper = self.zookeeper.address
            self._overrides = self.zookeeper.client_settings | self._overrides
        self._connect = zookeeper
        self._seconds: list[BrokerProcess] = []

    @property
    def bootstrap(self) -> str:
        """The ``bootstrap.servers`` for clients: all brokers, including dead ones."""
        return ",".join(broker.kafka for broker in self.brokers.values())

    @property
    def zookeeper_connect(self) -> str:
        """``zookeeper.connect`` of the brokers."""
        return self._connect

    @property
    def session_timeout_ms(self) -> int:
        """``zookeeper.session.timeout.ms`` of the brokers."""
        return int(self._overrides.get("zookeeper.session.timeout.ms", SESSION_TIMEOUT_MS))

    @property
    def cluster_file(self) -> Path:
        """The path of cluster.json, which lists the processes."""
        return self.directory / CLUSTER_FILE

    def start(self, timeout_s: float = READY_TIMEOUT_S) -> None:
        """Start everything and wait until it serves; on failure stop everything.

        Must be called on a thread that lives as long as the cluster, such as the main thread.

        Raises:
            ClusterError: A broker ended, or did not serve in time.
            ZooKeeperStartError: ZooKeeper ended, or did not serve in time.
        """
        try:
            self.launch()
            self.wait_ready(timeout_s)
        except BaseException:
            self.stop()
            raise

    def launch(self) -> None:
        """Start all processes that do not run, without waiting (the brokers wait for ZooKeeper themselves).

        Raises:
            ClusterError: A broker has ended while ZooKeeper started.
            ZooKeeperStartError: ZooKeeper cannot run.
        """
        self.directory.mkdir(parents=True, exist_ok=True)
        if self.zookeeper is not None and self.zookeeper.pid is None:
            self.zookeeper.launch()
        for broker in self.brokers.values():
            self.write_properties(broker.id)
            broker.start()
        self._write_cluster_file()
        if self.zookeeper is not None:
            self.zookeeper.wait_ready()
            self._write_cluster_file()
        ended = [broker for broker in self.brokers.values() if broker.pid is None]
        if ended:
            raise ClusterError(self._ends(ended))

    def write_properties(self, broker_id: BrokerId | int) -> None:
        """Write a broker's server.properties, which it reads at its next start."""
        broker = self.brokers[BrokerId(broker_id)]
        broker.write_properties(self._connect, len(self.brokers), self._overrides)

    def wait_ready(
        self, timeout_s: float = READY_TIMEOUT_S, *, given_up: Callable[[], bool] = lambda: False
    ) -> None:
        """Wait until all running brokers serve and know each other, and one of them is the controller.

        Args:
            timeout_s: How long.
            given_up: Polled; True ends the wait.

        Raises:
            ClusterError: No broker runs, one ended while it was waited for, or the time is over.
        """
        running = [broker for broker in self.brokers.values() if broker.pid is not None]
        if not running:
            raise ClusterError(f"no broker runs. {self._ends(self.brokers.values())}")
        self._until(lambda: self._is_ready(running), timeout_s, "serve", given_up)

    def _is_ready(self, running: list[BrokerProcess]) -> bool:
        ended = [broker for broker in running if broker.pid is None]
        if ended:
            raise ClusterError(self._ends(ended))
        controllers = 0.0
        for broker in running:
            gauges = broker.gauges(STATE, _LIVE, CONTROLLERS)
            if gauges.get(STATE) != RUNNING or gauges.get(_LIVE) != len(running):
                return False
            controllers += gauges[CONTROLLERS]
        return controllers == 1

    @staticmethod
    def _ends(brokers: Iterable[BrokerProcess]) -> str:
        """Describe the end of brokers, each with the last lines of its output."""
        return "\n".join(
            f"broker {broker.id} ended with status {broker.exit_status}: {broker.last_words()} "
            f"(see {broker.console})"
            for broker in brokers
        )

    def _until(
        self, holds: Callable[[], bool], timeout_s: float, what: str, given_up: Callable[[], bool]
    ) -> None:
        deadline = time.monotonic() + timeout_s
        while not holds():
            if given_up():
                return
            if time.monotonic() > deadline:
                said = "; ".join(f"broker {b.id}: {b.last_words()}" for b in self.brokers.values())
                raise ClusterError(f"the cluster did not {what} within {timeout_s:g} s. {said}")
            time.sleep(_POLL_S)

    def controller_id(self, timeout_s: float = READY_TIMEOUT_S) -> BrokerId:
        """Return the controller's broker id, waiting for one.

        Raises:
            ClusterError: There was no controller in time.
        """
        found: list[BrokerId] = []

        def one_is() -> bool:
            found[:] = [
                b.id for b in self.brokers.values() if b.pid is not None and b.gauge(CONTROLLERS) == 1
            ]
            return len(found) == 1

        self._until(one_is, timeout_s, "have one controller", lambda: False)
        return found[0]

    def broker(self, broker_id: BrokerId | int) -> BrokerProcess:
        """Return a broker.

        Raises:
            ClusterError: There is no broker of this id.
        """
        try:
            return self.brokers[BrokerId(broker_id)]
        except KeyError:
            known = ", ".join(map(str, self.brokers))
            raise ClusterError(f"there is no broker {broker_id}: expected one of {known}") from None

    def kill(self, broker_id: BrokerId | int) -> None:
        """Send SIGKILL to a broker and wait for its end.

        Raises:
            ClusterError: It did not end in time, as a process that waits for a disk.
        """
        broker = self.broker(broker_id)
        broker.signal(signal.SIGKILL)
        if not broker.wait(_KILL_S):
            raise ClusterError(f"broker {broker_id} did not end within {_KILL_S:g} s of SIGKILL")

    def terminate(self, broker_id: BrokerId | int, timeout_s: float = 30.0) -> None:
        """Stop a broker cleanly with SIGTERM.

        Raises:
            ClusterError: It did not end in time.
        """
        broker = self.broker(broker_id)
        broker.signal(signal.SIGTERM)
        if not broker.wait(timeout_s):
            raise ClusterError(f"broker {broker_id} did not end within {timeout_s:g} s of SIGTERM")

    def pause(self, broker_id: BrokerId | int) -> None:
        """Pause a broker with SIGSTOP, and wait until all its threads have stopped.

        Raises:
            ClusterError: They did not stop in time.
        """
        self.broker(broker_id).pause()

    def resume(self, broker_id: BrokerId | int) -> None:
        """Resume a paused broker with SIGCONT."""
        self.broker(broker_id).signal(signal.SIGCONT)

    def restart(self, broker_id: BrokerId | int, *, wait: bool = True) -> None:
        """Stop a broker if it runs, start it, and wait until the cluster is ready if ``wait`` is set.

        Raises:
            ClusterError: The broker did not stop, or does not serve in time.
        """
        broker = self.broker(broker_id)
        if broker.pid is not None:
            self.terminate(broker_id)
        broker.start()
        self._write_cluster_file()
        if wait:
            self.wait_ready()

    def duplicate(self, broker_id: BrokerId | int) -> BrokerProcess:
        """Start a second process with a broker's id and advertised endpoints, without waiting for it.

        It has its own directory ``again-N`` beside the broker's, and listens on free ports.
        """
        broker = self.broker(broker_id)
        second = broker.second(self.directory / f"again-{broker_id}", any_free(1).brokers[0])
        second.write_properties(self._connect, len(self.brokers), self._overrides)
        second.console.unlink(missing_ok=True)
        second.start()
        self._seconds.append(second)
        return second

    def restart_zookeeper(self) -> None:
        """Start the embedded ZooKeeper again after its end, and wait until it serves.

        Raises:
            ZooKeeperStartError: It does not come up.
        """
        if self.zookeeper is not None:
            self.zookeeper.start()
            self._write_cluster_file()

    def stop(self) -> list[BrokerId]:
        """Stop everything, brokers first, and kill what has not ended after 10 s.

        Returns:
            The brokers that had to be killed.
        """
        for second in self._seconds:
            second.signal(signal.SIGKILL)
        for broker in self.brokers.values():
            broker.signal(signal.SIGCONT)
            broker.signal(signal.SIGTERM)
        deadline = time.monotonic() + _STOP_BROKERS_S
        stubborn = [b.id for b in self.brokers.values() if not b.wait(max(0.0, deadline - time.monotonic()))]
        for broker_id in stubborn:
            with contextlib.suppress(ClusterError):  # the others must be stopped, too
                self.kill(broker_id)
        if self.zookeeper is not None:
            self.zookeeper.stop(_STOP_ZOOKEEPER_S)
        self._children.close()
        return stubborn

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def _write_cluster_file(self) -> None:
        pid = None if self.zookeeper is None else self.zookeeper.pid
        content = {
            "zookeeper": {"address": self._connect, "pid": pid},
            "brokers": [broker.describe() for broker in self.brokers.values()],
        }
        new = self.cluster_file.with_suffix(".tmp")
        new.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
        new.replace(self.cluster_file)
