"""One broker of a local cluster: its directory, its settings, its process."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import sys
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from barnabas.cluster.model.brokers import GRPC_LISTENER
from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.properties import render_properties
from barnabas.local.children import Children
from barnabas.local.place import HERE, Place
from barnabas.local.ports import BrokerPorts

SESSION_TIMEOUT_MS = 4000
"""The ZooKeeper session of a broker on a laptop: dead brokers are noticed soon, busy ones are not lost."""

PID_FILE = "broker.pid"
"""The file in a broker's directory that holds the id of its process."""

CONNECTION_TIMEOUT_MS = 18000


def live_process(directory: Path) -> int | None:
    """Return the id of the process that runs the broker in ``directory``, or None if there is none.

    The id is that of its ``broker.pid``. A broker that was killed leaves the file behind, so the process must
    be alive and must be a broker's: where ``/proc`` tells, its command line must name ``barnabas.broker``.
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
    """A broker that can be started, stopped, killed and held.

    Attributes:
        id: Its broker.id.
        directory: Where its server.properties, logs and data lie.
        kafka: host:port for clients.
        grpc: host:port for other brokers.
        metrics: host:port of its metrics page.
        own_settings: Settings of this broker alone, to be made before its server.properties is written.
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
        self._children = children
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def dir(self) -> Path:
        """Its directory, under the name that cluster.json gives it."""
        return self.directory

    @property
    def properties(self) -> Path:
        """Its settings file."""
        return self.directory / "server.properties"

    @property
    def command(self) -> str:
        """What a person types, in whichever directory, to start it by hand."""
        return shlex.join([*self._place.enter, sys.executable, "-m", "barnabas.broker", str(self.properties)])

    @property
    def _listeners(self) -> str:
        return f"PLAINTEXT://{self.kafka},{GRPC_LISTENER}://{self.grpc}"

    @property
    def state_change_log(self) -> Path:
        """Its state-change.log."""
        return self.directory / "logs" / "state-change.log"

    @property
    def console(self) -> Path:
        """What it printed."""
        return self.directory / "logs" / "console.log"

    @property
    def pid(self) -> int | None:
        """Its process id, or None while it does not run."""
        return self._process.pid if self._process is not None and self._process.poll() is None else None

    @property
    def exit_status(self) -> int | None:
        """How its last process ended (negative: the signal), or None where that still runs or never ran."""
        return None if self._process is None else self._process.poll()

    def write_properties(self, zookeeper: str, brokers: int, overrides: Mapping[str, str]) -> None:
        """Write server.properties for a cluster of ``brokers`` brokers.

        ``overrides`` win over what is written anyway, and this broker's ``own_settings`` over them.
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
            # A whole cluster that stops has nobody to hand over to: its last broker is not to try for long.
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
        """Start the process and return at once; does nothing while it runs."""
        if self.pid is None:
            command = [
                *self._place.enter,
                sys.executable,
                "-P",
                "-m",
                "barnabas.broker",
                str(self.properties),
            ]
            self._process = self._children.start(command, self.directory, self.console)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; does nothing where no process runs."""
        if self._process is not None:
            self._process.send_signal(number)

    def wait(self, timeout_s: float) -> bool:
        """Wait until the process has ended; False where it has not in time."""
        if self._process is not None:
            try:
                self._process.wait(timeout_s)
            except subprocess.TimeoutExpired:
                return False
        return True

    def gauges(self, *names: str) -> dict[str, float]:
        """Those metrics without labels, or all, by name; none where the broker does not answer."""
        query = urllib.parse.urlencode([("name[]", name) for name in names])
        try:
            with urllib.request.urlopen(f"http://{self.metrics}/metrics?{query}", timeout=2) as answer:
                page = answer.read().decode()
        except OSError:
            return {}
        pairs = (line.split(" ") for line in page.splitlines() if line[:1] != "#" and "{" not in line)
        return {name: float(value) for name, value in pairs}

    def gauge(self, name: str) -> float | None:
        """The value of a metric without labels, or None where the broker does not tell it."""
        return self.gauges(name).get(name)

    def arm(self, failpoint: str, action: str) -> None:
        """Have ``action`` (``off``, ``pause``, ``error``, ``exit``) happen at ``failpoint``.

        Raises:
            ValueError: The broker knows no such failpoint or action; the message is its own.
        """
        url = f"http://{self.metrics}/failpoints/{failpoint}?action={action}"
        try:
            with urllib.request.urlopen(urllib.request.Request(url, method="POST"), timeout=5):
                pass
        except urllib.error.HTTPError as error:
            with error:
                raise ValueError(error.read().decode().strip()) from error

    def second(self, directory: Path, ports: BrokerPorts) -> BrokerProcess:
        """Another process under this broker's id that advertises this broker's endpoints, not yet started.

        Args:
            directory: Where its server.properties, logs and data lie.
            ports: Where it listens, at this broker's place.
        """
        second = BrokerProcess(self.id, directory, ports, self._children, self._place)
        second.own_settings["advertised.listeners"] = self._listeners
        return second

    def said(self) -> str:
        """All that it printed."""
        return self.console.read_text(encoding="utf-8", errors="replace")

    def last_words(self) -> str:
        """The last line it printed, for a report of its death."""
        lines = reversed(self.said().splitlines()) if self.console.exists() else ()
        return next((line for line in lines if line.strip()), "it printed nothing")

    def describe(self) -> dict[str, object]:
        """Its entry in cluster.json."""
        return {
            "id": self.id,
            "pid": None if self._process is None else self._process.pid,
            "kafka": self.kafka,
            "grpc": self.grpc,
            "metrics": self.metrics,
            "dir": str(self.directory),
            "state_change_log": str(self.state_change_log),
        }
