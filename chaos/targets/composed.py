"""The cluster of docker-compose.yml as fault targets: its containers and the network between them.

The cluster is three brokers and the profile ``ensemble`` in a separate Compose project. A container's network
is cut in its own namespace (``barnabas.chaos.targets.links``). This needs root and a local container engine.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from barnabas.chaos.targets.commands import run
from barnabas.chaos.targets.links import CLIENTS, Links
from barnabas.chaos.targets.targets import Targets, node_of
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.ensemble import Ensemble
from barnabas.local.errors import ClusterError
from barnabas.local.place import Place
from barnabas.local.ports import any_free
from barnabas.local.waiting import wait_until
from barnabas.local.zookeeper import mode_of
from barnabas.local.zookeeper_jars import ZooKeeperStartError

FILE = Path(__file__).resolve().parents[2] / "docker-compose.yml"
BROKERS = 3
SETTINGS = {"auto.create.topics.enable": "false", "log.segment.bytes": str(1 << 20)}
"""The settings of brokers: no topic is created by a request for it, and short segments roll."""

ZOOKEEPERS = ("zookeeper", "zookeeper-2", "zookeeper-3")

UP_TIMEOUT_S = 1800.0
"""The longest time to start everything in seconds; images may have to be built first."""

END_TIMEOUT_S = 180.0
"""The longest time for a container to end in seconds; Compose allows controlled shutdown two minutes."""

_SETTINGS_FILE = FILE.parent / "scripts" / "container" / "server.properties"
_UP = ("up", "--detach", "--wait")
_CLIENT_PORT = 2181
_DATA, _DATALOG = "/var/lib/barnabas", "/datalog"
_PREFIX = "barnabas-chaos-"
_PROJECT = re.compile(rf"^{_PREFIX}(\d+)$", re.MULTILINE)
_ADDRESS = "{{range .NetworkSettings.Networks}}{{.IPAddress}}{{end}}"
_HEALTH = "{{.State.Health.Status}}"
_GATEWAY = "{{(index .IPAM.Config 0).Gateway}}"

_run = partial(run, ClusterError)


def why_not() -> str | None:
    """Return why containers cannot be used here; None if they can."""
    if os.geteuid() != 0:
        return "only root can cut the networks of containers"
    for program in ("docker", "nsenter", "iptables"):
        if shutil.which(program) is None:
            return f"there is no {program}"
    if not FILE.exists():
        return f"there is no {FILE}"
    try:
        _run("docker", "compose", "version")
        _run("docker", "info")
    except ClusterError as error:
        return str(error)
    return None


class Container:
    """A container, running or not. If it ended by itself, that is not an error.

    Args:
        name: The name in ``docker ps``.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    @property
    def pid(self) -> int | None:
        """The process id on this machine; None while the container does not run."""
        return int(self._inspected("{{.State.Pid}}")) or None

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process; None while it runs."""
        return None if self.pid is not None else int(self._inspected("{{.State.ExitCode}}"))

    @property
    def host(self) -> str:
        """The address in the project's network, which may change with a restart."""
        return self._inspected(_ADDRESS)

    def volume(self, destination: str) -> Path:
        """Return the local path of one of the container's volumes."""
        found = json.loads(self._inspected("{{json .Mounts}}"))
        (source,) = (mount["Source"] for mount in found if mount["Destination"] == destination)
        return Path(source)

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if a process runs."""
        _run("docker", "kill", "--signal", number.name, self.name, may_fail=True)

    def launch(self) -> None:
        """Start the container without waiting for it."""
        _run("docker", "start", self.name)

    def stop(self) -> None:
        """Send SIGTERM and wait for the container's end.

        Raises:
            ClusterError: The container did not end in time.
        """
        self.signal(signal.SIGTERM)
        self._wait()

    def kill(self) -> None:
        """Send SIGKILL and wait for the end."""
        self.signal(signal.SIGKILL)
        self._wait()

    def pause(self) -> None:
        """Freeze the processes."""
        _run("docker", "pause", self.name, may_fail=True)

    def resume(self) -> None:
        """Thaw the processes."""
        _run("docker", "unpause", self.name, may_fail=True)

    def last_words(self) -> str:
        """Return the last line on the container's standard output."""
        return _run("docker", "logs", "--tail", "1", self.name).strip() or "it printed nothing"

    def _wait(self) -> None:
        _run("docker", "wait", self.name, timeout_s=END_TIMEOUT_S)

    def _inspected(self, form: str) -> str:
        (answer,) = _inspect(form, self.name)
        return answer


class ContainedServer(Container):
    """The container of a ZooKeeper."""

    @property
    def address(self) -> str:
        """The address as ``host:port``, which works on this machine too."""
        return f"{self.host}:{_CLIENT_PORT}"

    def mode(self) -> str | None:
        """Return the mode, ``leader`` or ``follower``; None while the server does not serve."""
        return mode_of(self.host, _CLIENT_PORT) if self.pid is not None else None

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until the server serves.

        Raises:
            ZooKeeperStartError: The server does not serve in time.
        """
        try:
            wait_until(self.mode, f"{self.name} serving", timeout_s, self.last_words)
        except TimeoutError as error:
            raise ZooKeeperStartError(str(error)) from error


class ContainedBroker(Container):
    """The container of a broker."""

    def __init__(self, name: str, broker_id: BrokerId) -> None:
        super().__init__(name)
        self.id = broker_id

    @property
    def directory(self) -> Path:
        """The local folder of the broker's log directories."""
        return self.volume(_DATA)


class ComposedCluster:
    """The brokers of a Compose project.

    Attributes:
        brokers: The brokers by id.
        ensemble: The ZooKeepers.
        links: The network between all of them.
        bootstrap: ``bootstrap.servers`` for clients on this machine.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._project = f"{_PREFIX}{os.getpid()}"
        free = any_free(BROKERS)
        ports = [broker.kafka for broker in free.brokers]
        self._environment = [f"BROKER_{n}_PORT={port}" for n, port in enumerate(ports, start=1)]
        self._environment += [
            f"METRICS_{n}_PORT={each.metrics}" for n, each in enumerate(free.brokers, start=1)
        ]
        self._environment.append(f"PAGE_PORT={free.zookeeper}")
        self.bootstrap = ",".join(f"localhost:{port}" for port in ports)
        self.brokers: Mapping[BrokerId, ContainedBroker] = {
            BrokerId(n): ContainedBroker(self._name(node_of(BrokerId(n))), BrokerId(n))
            for n in range(1, BROKERS + 1)
        }
        servers = {name: ContainedServer(self._name(name)) for name in ZOOKEEPERS}
        self.ensemble = Ensemble(servers)
        self._containers: Mapping[str, Container] = {
            **servers,
            **{node_of(number): broker for number, broker in self.brokers.items()},
        }
        self.links = Links(self._places)

    def start(self) -> None:
        """Start all containers and wait until they serve.

        Raises:
            ClusterError: The containers cannot be started here.
        """
        _remove_leftovers()
        files = ("--file", str(FILE), "--file", str(self._write_settings()))
        _run("env", *self._environment, *_compose(self._project, *files), *_UP, timeout_s=UP_TIMEOUT_S)
        self.links.try_netem()

    def _write_settings(self) -> Path:
        """Write the brokers' settings, and return a Compose file that mounts them."""
        self._directory.mkdir(parents=True, exist_ok=True)
        settings = self._directory / "server.properties"
        own = "".join(f"{name}={value}\n" for name, value in SETTINGS.items())
        settings.write_text(_SETTINGS_FILE.read_text(encoding="utf-8") + own, encoding="utf-8")
        # Without a restart policy, a broker that ends by itself stays down and is noticed.
        changed = {"volumes": [f"{settings}:/etc/barnabas/server.properties:ro"], "restart": "no"}
        compose = self._directory / "docker-compose.yml"
        services = {node_of(number): changed for number in self.brokers}
        compose.write_text(json.dumps({"services": services}), encoding="utf-8")
        return compose

    def stop(self) -> None:
        """Remove all containers, networks and volumes."""
        _down(self._project)

    def kill(self, broker_id: BrokerId) -> None:
        """Send SIGKILL and wait for the end."""
        self.brokers[broker_id].kill()

    def terminate(self, broker_id: BrokerId, timeout_s: float) -> None:
        """Send SIGTERM and wait at most ``timeout_s`` seconds for the container's end.

        Raises:
            ClusterError: The container did not end in time.
        """
        broker = self.brokers[broker_id]
        broker.signal(signal.SIGTERM)
        try:
            wait_until(lambda: broker.pid is None, f"the end of {broker.name}", timeout_s, broker.last_words)
        except TimeoutError as error:
            raise ClusterError(str(error)) from error

    def pause(self, broker_id: BrokerId) -> None:
        """Freeze the processes."""
        self.brokers[broker_id].pause()

    def resume(self, broker_id: BrokerId) -> None:
        """Thaw the processes."""
        self.brokers[broker_id].resume()

    def restart(self, broker_id: BrokerId, *, wait: bool) -> None:
        """Start a broker, and wait until all brokers are ready if ``wait`` is set."""
        self.brokers[broker_id].launch()
        if wait:
            self.wait_ready(END_TIMEOUT_S)

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until all brokers are healthy.

        Raises:
            ClusterError: Some are not healthy in time.
        """
        try:
            wait_until(
                lambda: set(_inspect(_HEALTH, *self._names(self.brokers.values()))) == {"healthy"},
                "the health of all brokers",
                timeout_s,
                lambda: [broker.last_words() for broker in self.brokers.values()],
            )
        except TimeoutError as error:
            raise ClusterError(str(error)) from error

    def gather(self, directory: Path) -> None:
        """Copy the logs of brokers and ZooKeepers below ``directory``, in the layout of a local cluster."""
        for broker in self.brokers.values():
            shutil.copytree(broker.directory / "logs", directory / node_of(broker.id) / "logs")
        for number, name in enumerate(ZOOKEEPERS, start=1):
            source = self._containers[name].volume(_DATALOG)
            shutil.copytree(source, directory / f"zookeeper-{number}" / "datalog")

    def _name(self, service: str) -> str:
        return f"{self._project}-{service}-1"

    @staticmethod
    def _names(containers: Iterable[Container]) -> list[str]:
        return [container.name for container in containers]

    def _places(self) -> dict[str, Place]:
        """Return the places of the running containers and of clients."""
        network = f"{self._project}_default"
        # Connections to a port that is published on this machine come from the network's gateway.
        gateway = _run("docker", "network", "inspect", "--format", _GATEWAY, network).strip()
        found = {CLIENTS: Place(gateway)}
        inspected = _inspect(f"{{{{.State.Pid}}}} {_ADDRESS}", *self._names(self._containers.values()))
        for node, line in zip(self._containers, inspected, strict=True):
            pid, _, host = line.partition(" ")
            if int(pid):
                found[node] = Place(host, ("nsenter", f"--net=/proc/{pid}/ns/net"))
        return found


@contextmanager
def composed_targets(directory: Path) -> Iterator[Targets]:
    """Run a cluster in containers, with its local files below ``directory``."""
    cluster = ComposedCluster(directory)
    try:
        cluster.start()
        yield Targets(cluster, cluster.ensemble, cluster.links, gather=cluster.gather)
    finally:
        cluster.stop()


def _inspect(form: str, *names: str) -> list[str]:
    """Inspect several containers with one call, which costs little more than a call for one."""
    return _run("docker", "inspect", "--format", form, *names).splitlines()


def _compose(project: str, *files: str) -> tuple[str, ...]:
    return ("docker", "compose", "--project-name", project, *files, "--profile", "ensemble")


def _down(project: str) -> None:
    gone = ("down", "--volumes", "--remove-orphans", "--timeout", "10")
    _run(*_compose(project, "--file", str(FILE)), *gone, timeout_s=END_TIMEOUT_S, may_fail=True)


def _remove_leftovers() -> None:
    """Remove the projects of processes that were killed before they could do so."""
    seen = _run("docker", "ps", "--all", "--format", '{{.Label "com.docker.compose.project"}}')
    for owner in {found[1] for found in _PROJECT.finditer(seen)}:
        if not Path(f"/proc/{owner}").exists():
            _down(f"{_PREFIX}{owner}")
