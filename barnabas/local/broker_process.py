"""A broker of a local cluster: directory, settings and process."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.properties import render_properties
from barnabas.local import metrics
from barnabas.local.children import Children, Process
from barnabas.local.pausing import pause
from barnabas.local.place import HERE, Place
from barnabas.local.ports import BrokerPorts

SESSION_TIMEOUT_MS = 4000
"""The ZooKeeper session timeout on a laptop: short, so that deaths are noticed, and safe for busy brokers."""

PID_FILE = "broker.pid"
"""The file in a broker's directory that holds the id of its process."""

CONNECTION_TIMEOUT_MS = 18000

STATE = "kafka_server_KafkaServer_BrokerState"
"""Kafka's gauge of a broker's life cycle."""

RUNNING = 3.0
"""The value of `STATE` while clients are served (Kafka: ``BrokerState.RUNNING``)."""

CONTROLLERS = "kafka_controller_KafkaController_ActiveControllerCount"
"""Kafka's gauge that is 1 on the controller and 0 elsewhere."""


def live_process(directory: Path) -> int | None:
    """Return the id of the process that runs the broker in ``directory``, or None if there is none.

    The id is that of its ``broker.pid``. A broker that was killed leaves the file behind, so the process
    must be alive and must be a broker's: where there is a ``/proc``, its command line must name
    ``barnabas.broker``.
    """
    try:
        pid = int((directory / PID_FILE).read_text(encoding="ascii"))
        os.kill(pid, 0)
    except (OSError, ValueError):
        return None
    try:
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return pid
    return pid if b"barnabas.broker" in command else None


class BrokerProcess:
    """A broker that can be started, stopped, killed and paused.

    Attributes:
        id: The broker.id.
        directory: The folder of server.properties, logs and data.
        kafka: host:port for clients.
        grpc: host:port for other brokers.
        metrics: host:port of the metrics page.
        own_settings: Settings of this broker only, to be set before server.properties is written.
        overrides: Settings over those of server.properties, for processes that are started here.
    """

    def __init__(
        self,
        broker_id: BrokerId,
        directory: Path,
        ports: BrokerPorts,
        children: Children,
        place: Place = HERE,
    ) -> None:
        self.id = broker_id
        self.directory = directory
        self.kafka = f"{place.host}:{ports.kafka}"
        self.grpc = f"{place.host}:{ports.grpc}"
        self.metrics = f"{place.host}:{ports.metrics}"
        self.own_settings: dict[str, str] = {}
        self.overrides: dict[str, str] = {}
        self._children = children
        self._place = place
        self._process: Process | None = None

    @property
    def dir(self) -> Path:
        """The directory, under its name in cluster.json."""
        return self.directory

    @property
    def properties(self) -> Path:
        """The settings file."""
        return self.directory / "server.properties"

    @property
    def command(self) -> str:
        """The command that starts the broker by hand, from any directory."""
        return shlex.join([*self._place.enter, sys.executable, "-m", "barnabas.broker", str(self.properties)])

    @property
    def _listeners(self) -> str:
        return f"PLAINTEXT://{self.kafka},{GRPC_LISTENER}://{self.grpc}"

    @property
    def state_change_log(self) -> Path:
        """The path of state-change.log."""
        return self.directory / "logs" / "state-change.log"

    @property
    def console(self) -> Path:
        """The file with the output of the process."""
        return self.directory / "logs" / "console.log"

    @property
    def pid(self) -> int | None:
        """The process id; None while the broker does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process (negative: the signal); None if it runs or never ran."""
        return None if self._process is None else self._process.poll()

    def write_properties(self, zookeeper: str, brokers: int, overrides: Mapping[str, str]) -> None:
        """Write server.properties for a cluster of ``brokers`` brokers.

        ``overrides`` replace defaults, and this broker's ``own_settings`` replace both.
        """
        settings = {
            "broker.id": str(self.id),
            "listeners": self._listeners,
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,{GRPC_LISTENER}:PLAINTEXT",
            "inter.broker.listener.name": GRPC_LISTENER,
            "metrics.address": self.metrics,
            "log.dirs": str(self.directory / "data"),
            "kafka.logs.dir": str(self.state_change_log.parent),
            "pid.file": str(self.directory / PID_FILE),
            "zookeeper.connect": zookeeper,
            "zookeeper.session.timeout.ms": str(SESSION_TIMEOUT_MS),
            "zookeeper.connection.timeout.ms": str(CONNECTION_TIMEOUT_MS),
            # The last broker of a stopping cluster cannot move its leaderships, so it should not retry for
            # long.
            "controlled.shutdown.retry.backoff.ms": "250",
            "state.change.log.level": "TRACE",
            "offsets.topic.replication.factor": str(min(3, brokers)),
            "transaction.state.log.replication.factor": str(min(3, brokers)),
            **overrides,
            **self.own_settings,
        }
        self.state_change_log.parent.mkdir(parents=True, exist_ok=True)
        comment = f"Written by `barnabas up` at every start. By hand: {self.command}"
        self.properties.write_text(render_properties(settings, comment), encoding="utf-8")

    def start(self) -> None:
        """Start the process without waiting, unless it runs."""
        if self.pid is None:
            command = [
                *self._place.enter,
                sys.executable,
                "-P",
                "-m",
                "barnabas.broker",
                str(self.properties),
                "--override=zookeeper.connection.wait=true",  # it is ended with the process that starts it
                *(f"--override={name}={value}" for name, value in self.overrides.items()),
            ]
            self._process = self._children.start(command, self.directory, self.console)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def pause(self) -> None:
        """Send SIGSTOP, if the process runs, and wait until all its threads have stopped.

        Raises:
            ClusterError: They did not stop in time.
        """
        if self._process is not None:
            pause(self._process)

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended; return False if it has not in time."""
        if self._process is not None:
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                return False
        return True

    def gauges(self, *names: str) -> dict[str, float]:
        """Read metrics without labels by name, by default all; empty if the broker does not answer."""
        return metrics.gauges(self.metrics, *names)

    def gauge(self, name: str) -> float | None:
        """Read a metric without labels; None if the broker does not export it."""
        return self.gauges(name).get(name)

    def serving(self) -> tuple[bool, bool]:
        """Return whether the broker serves clients, and whether it says that it is the controller."""
        gauges = self.gauges(STATE, CONTROLLERS)
        return gauges.get(STATE) == RUNNING, gauges.get(CONTROLLERS) == 1

    def arm(self, failpoint: str, action: str) -> None:
        """Arm ``failpoint`` with ``action`` (``off``, ``pause``, ``error`` or ``exit``).

        Raises:
            ValueError: The broker knows no such failpoint or action; the message is its own.
        """
        metrics.arm(self.metrics, failpoint, action)

    def second(self, directory: Path, ports: BrokerPorts) -> BrokerProcess:
        """Create a second process with this broker's id and advertised endpoints, without starting it.

        Args:
            directory: The folder of server.properties, logs and data.
            ports: The ports on which it listens.
        """
        second = BrokerProcess(self.id, directory, ports, self._children, self._place)
        second.own_settings["advertised.listeners"] = self._listeners
        return second

    def said(self) -> str:
        """Return everything that the process printed."""
        return self.console.read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        """Return the last line that the process printed, which error messages quote."""
        lines = reversed(self.said().splitlines()) if self.console.exists() else ()
        return next((line for line in lines if line.strip()), "it printed nothing")

    def describe(self) -> dict[str, object]:
        """Return the broker's entry in cluster.json."""
        return {
            "id": self.id,
            "pid": None if self._process is None else self._process.pid,
            "kafka": self.kafka,
            "grpc": self.grpc,
            "metrics": self.metrics,
            "dir": str(self.directory),
            "state_change_log": str(self.state_change_log),
        }
