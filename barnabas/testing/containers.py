"""A cluster of containers, in the words of ``barnabas.testing.cluster``, where only Docker is at hand.

>>> with container_cluster(brokers=3) as cluster:
...     with cluster.killed(cluster.leader_of("orders")):
...         ...

The image is the one that the Dockerfile builds (``docker build -t barnabas .``). Brokers, ZooKeeper and
clients reach each other through a container of switches. This needs the extra ``containers``.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, TypeVar

from requests.exceptions import RequestException
from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from barnabas.local import link_server
from barnabas.local.link_server import Link
from barnabas.local.ports import free_ports
from barnabas.local.switches import ZOOKEEPER
from barnabas.testing.cluster import Cluster
from barnabas.testing.errors import ClusterError
from barnabas.testing.faults import CLIENTS, Ways
from barnabas.testing.handle import Handle
from barnabas.testing.options import Options
from barnabas.testing.running import Running

T = TypeVar("T")

IMAGE = "barnabas"
"""The name of the image that `docker compose build` makes."""

ZOOKEEPER_IMAGE = "zookeeper:3.9"

_LOGS = "/var/lib/barnabas/logs"
_KAFKA, _GRPC, _METRICS, _ZOOKEEPER_PORT = 9092, 9192, 9404, 2181
_CONTROL, _FIRST_SWITCH = 9000, 9001
_SWITCHES = "switches"
_STATES = {"running": "running", "paused": "paused"}
_PYTHON = ["python", "-P", "-m"]

# The command of a container cannot change, but a file in it can. The last override of a setting counts.
_FAILPOINTS = "/tmp/failpoints"
_BROKER = (
    'exec python -P -m barnabas.broker /etc/barnabas/server.properties "$@" '
    f'--override "failpoints=$(cat {_FAILPOINTS} 2> /dev/null || echo "$FAILPOINTS")"'
)
_ZOOKEEPER_ENVIRONMENT = {
    "ZOO_TICK_TIME": "500",  # the shortest session is two ticks
    "ZOO_4LW_COMMANDS_WHITELIST": "srvr",
    "ZOO_ADMINSERVER_ENABLED": "false",
}


def container_cluster(
    brokers: int = 3,
    *,
    settings: Mapping[str, str] | None = None,
    session_timeout_ms: int = 3_000,
    racks: Sequence[str] = (),
    image: str = IMAGE,
) -> Cluster:
    """Create a cluster of containers in a network of their own, which its ``with`` block starts and removes.

    Args:
        brokers: The number of brokers.
        settings: Settings of every broker, over those for tests (``barnabas.testing.options``).
        session_timeout_ms: ``zookeeper.session.timeout.ms``, at least 1000.
        racks: The ``broker.rack`` of broker 1, 2 and so on.
        image: The image of the brokers.

    Raises:
        ValueError: An option is not possible.
    """
    options = Options(brokers, dict(settings or {}), session_timeout_ms, tuple(racks))
    return Cluster(handle=Handle(RunningContainers(options, image)))


class RunningContainers(Running):
    """A cluster of containers.

    Args:
        options: The options of the cluster.
        image: The image of the brokers.
    """

    def __init__(self, options: Options, image: str) -> None:
        zookeeper, control, *ports = free_ports(2 + 3 * options.brokers)
        super().__init__(options, f"localhost:{zookeeper}", None)
        self.logs_at = f"{_LOGS} in the containers, while they exist"
        self._image = image
        self._addresses = {broker: f"localhost:{ports.pop()}" for broker in self.ids}
        self._metrics = {broker: f"localhost:{ports.pop()}" for broker in self.ids}
        self._advertised = {broker: f"localhost:{ports.pop()}" for broker in self.ids}
        self.bootstrap_servers = ",".join(self._advertised.values())
        self._links = links_of(self.ids)
        self._control = f"localhost:{control}"
        self._network = Network()
        self._zookeeper = self._member(DockerContainer(ZOOKEEPER_IMAGE), ZOOKEEPER).with_bind_ports(
            _ZOOKEEPER_PORT, zookeeper
        )
        for name, value in _ZOOKEEPER_ENVIRONMENT.items():
            self._zookeeper.with_env(name, value)
        self._switches = self._switches_container()
        self._brokers = {broker: self._broker_container(broker) for broker in self.ids}

    def _member(self, container: DockerContainer, name: str) -> DockerContainer:
        return container.with_network(self._network).with_network_aliases(name)

    def _switches_container(self) -> DockerContainer:
        container = (
            self._member(DockerContainer(self._image), _SWITCHES)
            .with_kwargs(entrypoint=[*_PYTHON, "barnabas.local.link_server"])
            .with_command(link_server.arguments(_CONTROL, self._links.values()))
            .with_bind_ports(_CONTROL, _port_of(self._control))
        )
        for broker, address in self._advertised.items():
            container.with_bind_ports(self._links[CLIENTS, str(broker)].port, _port_of(address))
        return container

    def _broker_container(self, broker: int) -> DockerContainer:
        mine = {link.server: link for link in self._links.values() if link.source == str(broker)}
        zookeeper = mine.pop(ZOOKEEPER)
        settings = {
            **self.options.all_settings(),
            "zookeeper.connect": f"{_SWITCHES}:{zookeeper.port}",
            "zookeeper.connection.wait": "true",  # the containers start at once
            "inter.broker.detours": ",".join(
                f"{link.target}={_SWITCHES}:{link.port}" for link in mine.values()
            ),
            "broker.id": str(broker),
            "advertised.listeners": f"INTERNAL://broker-{broker}:19092,HOST://{self._advertised[broker]},"
            f"GRPC://broker-{broker}:{_GRPC}",
        }
        if self.options.racks:
            settings["broker.rack"] = self.options.racks[broker - 1]
        overrides = [word for key, value in settings.items() for word in ("--override", f"{key}={value}")]
        return (
            self._member(DockerContainer(self._image), f"broker-{broker}")
            .with_kwargs(entrypoint=["sh", "-c", _BROKER, "broker"])
            .with_command(overrides)
            .with_env("FAILPOINTS", self.own_failpoints)
            .with_bind_ports(_KAFKA, _port_of(self._addresses[broker]))
            .with_bind_ports(_METRICS, _port_of(self._metrics[broker]))
        )

    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""
        await asyncio.to_thread(self._network.create)
        first = (self._zookeeper, self._switches)
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in first))
        await self.view.wait(self._switches_listen, "the switches listen", timeout_s, self.describe_state)
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in self._brokers.values()))
        await self.all_serve(timeout_s)

    async def _switches_listen(self) -> bool:
        await link_server.change(self._control, {})
        return True

    async def stop(self) -> None:
        """Remove the containers and their network."""
        await self.view.close()
        containers = [*self._brokers.values(), self._switches, self._zookeeper]
        await asyncio.gather(*(asyncio.to_thread(each.stop) for each in containers))
        await asyncio.to_thread(self._network.remove)

    async def kill(self, broker_id: int) -> None:
        """Send SIGKILL, and wait for the end of the container."""
        if self.state_of(broker_id) != "dead":
            self.note(f"SIGKILL to broker {broker_id}")
            container = self._docker(broker_id)
            await asyncio.to_thread(container.kill)
            await asyncio.to_thread(container.wait)
        self.view.wake()

    async def terminate(self, broker_id: int, timeout_s: float) -> None:
        """Send SIGTERM, and wait for the end of the container."""
        if self.state_of(broker_id) == "paused":
            await self.resume(broker_id)
        self.note(f"SIGTERM to broker {broker_id}")
        await asyncio.to_thread(self._docker(broker_id).stop, timeout=round(timeout_s))
        self.view.wake()

    async def start_broker(self, broker_id: int, timeout_s: float) -> None:
        """Start the container if it does not run, and wait until the broker serves."""
        if self.state_of(broker_id) == "dead":
            self.note(f"start broker {broker_id}")
            await asyncio.to_thread(self._docker(broker_id).start)
        await self.serves(broker_id, timeout_s)

    async def pause(self, broker_id: int) -> None:
        """Freeze the container."""
        self.check_runs(broker_id)
        self.note(f"pause broker {broker_id}")
        await asyncio.to_thread(self._docker(broker_id).pause)

    async def resume(self, broker_id: int) -> None:
        """Let a frozen container go on."""
        self.check_runs(broker_id)
        self.note(f"resume broker {broker_id}")
        await asyncio.to_thread(self._docker(broker_id).unpause)

    async def change_links(self, ways: Ways) -> None:
        """Change the conditions of ways.

        Raises:
            ClusterError: The container of the switches does not answer.
        """
        try:
            await link_server.change(self._control, ways)
        except OSError as error:
            raise ClusterError(f"the container of the switches does not answer: {error}") from error

    async def write_failpoints(self, broker_id: int, failpoints: str) -> None:
        """Write the file in the container that a start of the broker reads."""
        content, archive = failpoints.encode(), io.BytesIO()
        with tarfile.open(fileobj=archive, mode="w") as file:
            entry = tarfile.TarInfo(Path(_FAILPOINTS).name)
            entry.size, entry.mode = len(content), 0o644
            file.addfile(entry, io.BytesIO(content))
        folder = str(Path(_FAILPOINTS).parent)
        await self.on_thread(lambda: self._docker(broker_id).put_archive(folder, archive.getvalue()))

    def metrics_address(self, broker_id: int) -> str:
        """Return ``host:port`` of the broker's metrics page."""
        return self._metrics[broker_id]

    async def ends(self, broker_id: int, timeout_s: float) -> bool:
        """Wait for the end of the container."""
        try:
            await self.on_thread(lambda: self._docker(broker_id).wait(timeout=timeout_s))
        except RequestException:
            return False
        return True

    async def on_thread(self, call: Callable[[], T]) -> T:
        """Make a call that blocks on a thread."""
        return await asyncio.to_thread(call)

    def address(self, broker_id: int) -> str:
        """Return ``localhost:port`` of a broker, past the switches."""
        return self._addresses[broker_id]

    def state_of(self, broker_id: int) -> str:
        """Return ``running``, ``paused`` or ``dead``."""
        self.check_known(broker_id)
        container = self._brokers[broker_id].get_wrapped_container()
        if container is None:
            return "dead"
        container.reload()
        return _STATES.get(str(container.status), "dead")

    def raise_if_ended(self, broker_ids: Iterable[int]) -> None:
        """Raise ClusterError with the last words of a broker whose container has ended."""
        for broker_id in broker_ids:
            said = self._docker(broker_id).logs(tail=3).decode(errors="replace").strip()
            raise ClusterError(f"broker {broker_id} ended: {said or 'it printed nothing'}")

    def logs(self) -> Iterator[str]:
        """Generate the lines of all brokers' logs, which are copied out of the containers."""
        for broker_id in self.ids:
            chunks, _ = self._docker(broker_id).get_archive(_LOGS)
            with tempfile.TemporaryFile() as archive:
                archive.writelines(chunks)
                archive.seek(0)
                with tarfile.open(fileobj=archive) as files:
                    for member in files:
                        content = files.extractfile(member)
                        if content is not None and Path(member.name).name.startswith("s"):
                            yield from io.TextIOWrapper(content, encoding="utf-8", errors="replace")

    def _docker(self, broker_id: int) -> Any:
        self.check_known(broker_id)
        return self._brokers[broker_id].get_wrapped_container()


def links_of(brokers: Sequence[int]) -> dict[tuple[str, str], Link]:
    """Return the links of a cluster by the node that connects and the one that serves. Pure.

    Each broker reaches ZooKeeper and each other broker, and clients reach each broker.
    """
    ports = count(_FIRST_SWITCH)
    links = [
        *(Link(CLIENTS, str(each), f"broker-{each}:{_KAFKA}", next(ports)) for each in brokers),
        *(Link(str(each), ZOOKEEPER, f"{ZOOKEEPER}:{_ZOOKEEPER_PORT}", next(ports)) for each in brokers),
        *(
            Link(str(a), str(b), f"broker-{b}:{_GRPC}", next(ports))
            for a in brokers
            for b in brokers
            if a != b
        ),
    ]
    return {(link.source, link.server): link for link in links}


def _port_of(address: str) -> int:
    return int(address.rpartition(":")[2])
