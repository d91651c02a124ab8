"""A cluster of containers, in the words of ``barnabas.testing.cluster``, where only Docker is at hand.

>>> with container_cluster(brokers=3) as cluster:
...     with cluster.killed(cluster.leader_of("orders")):
...         ...

The image is the one that the Dockerfile builds (``docker build -t barnabas .``). Links cannot be cut here,
nor disks filled: ``partition``, ``slow`` and ``fill_disk`` are errors. This needs the extra ``containers``.
"""

from __future__ import annotations

import asyncio
import io
import tarfile
import tempfile
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from testcontainers.core.container import DockerContainer
from testcontainers.core.network import Network

from barnabas.local.ports import free_ports
from barnabas.testing.cluster import Cluster
from barnabas.testing.errors import ClusterError
from barnabas.testing.handle import Handle
from barnabas.testing.options import Options
from barnabas.testing.running import Node, Running

IMAGE = "barnabas"
"""The name of the image that `docker compose build` makes."""

ZOOKEEPER_IMAGE = "zookeeper:3.9"

_LOGS = "/var/lib/barnabas/logs"
_PORT, _ZOOKEEPER_PORT = 9092, 2181
_STATES = {"running": "running", "paused": "paused"}
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
        options: What it is made of.
        image: The image of the brokers.
    """

    def __init__(self, options: Options, image: str) -> None:
        zookeeper, *ports = free_ports(1 + options.brokers)
        super().__init__(
            range(1, options.brokers + 1), f"localhost:{zookeeper}", Path(f"containers of {image}")
        )
        self.logs_at = f"{_LOGS} in the containers, while they exist"
        self._addresses = {broker: f"localhost:{port}" for broker, port in zip(self.ids, ports, strict=True)}
        self.bootstrap_servers = ",".join(self._addresses.values())
        self._network = Network()
        self._zookeeper = (
            DockerContainer(ZOOKEEPER_IMAGE)
            .with_bind_ports(_ZOOKEEPER_PORT, zookeeper)
            .with_network(self._network)
            .with_network_aliases("zookeeper")
        )
        for name, value in _ZOOKEEPER_ENVIRONMENT.items():
            self._zookeeper.with_env(name, value)
        self._brokers = {
            broker: self._container(options, image, broker, port)
            for broker, port in zip(self.ids, ports, strict=True)
        }

    def _container(self, options: Options, image: str, broker: int, port: int) -> DockerContainer:
        settings = {
            "zookeeper.connect": f"zookeeper:{_ZOOKEEPER_PORT}",
            **options.all_settings(),
            "broker.id": str(broker),
            "advertised.listeners": f"INTERNAL://broker-{broker}:19092,HOST://localhost:{port},"
            f"GRPC://broker-{broker}:9192",
        }
        if options.racks:
            settings["broker.rack"] = options.racks[broker - 1]
        command = [word for key, value in settings.items() for word in ("--override", f"{key}={value}")]
        return (
            DockerContainer(image)
            .with_command(command)
            .with_bind_ports(_PORT, port)
            .with_network(self._network)
            .with_network_aliases(f"broker-{broker}")
        )

    async def start(self, timeout_s: float) -> None:
        """Start everything, and wait until all brokers serve and know each other."""
        await asyncio.to_thread(self._network.create)
        await asyncio.to_thread(self._zookeeper.start)
        await asyncio.gather(*(asyncio.to_thread(each.start) for each in self._brokers.values()))
        await self.all_serve(timeout_s)

    async def stop(self) -> None:
        """Remove the containers and their network."""
        await self.view.close()
        containers = [*self._brokers.values(), self._zookeeper]
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

    async def partition(self, node: Node, others: Collection[Node], *, one_way: bool, refuse: bool) -> None:
        """Refuse: links of containers cannot be cut."""
        del node, others, one_way, refuse
        raise _not_here("links cannot be cut")

    async def slow(
        self,
        node: Node,
        others: Collection[Node],
        *,
        one_way: bool,
        delay_ms: float,
        bytes_per_second: float | None,
    ) -> None:
        """Refuse: links of containers cannot be slowed down."""
        del node, others, one_way, delay_ms, bytes_per_second
        raise _not_here("links cannot be slowed down")

    async def heal(self) -> None:
        """Do nothing, because no link was cut."""

    async def fill_disk(self, broker_id: int) -> None:
        """Refuse: disks of containers cannot be filled."""
        self.check_known(broker_id)
        raise _not_here("disks cannot be filled")

    async def free_disk(self, broker_id: int) -> None:
        """Do nothing, because no disk was filled."""
        self.check_known(broker_id)

    def addresses(self, *, reachable: bool = False) -> dict[int, str]:
        """Return ``localhost:port`` of each running broker by id; with ``reachable`` of those not paused."""
        wanted = {"running"} if reachable else {"running", "paused"}
        return {broker: self._addresses[broker] for broker in self.ids if self.state_of(broker) in wanted}

    def state_of(self, broker_id: int) -> str:
        """Return ``running``, ``paused`` or ``dead``."""
        self.check_known(broker_id)
        container = self._brokers[broker_id].get_wrapped_container()
        if container is None:
            return "dead"
        container.reload()
        return _STATES.get(str(container.status), "dead")

    def refuse_ends(self, broker_ids: Iterable[int]) -> None:
        """Raise ClusterError with the last words of a broker whose container has ended."""
        for broker_id in broker_ids:
            said = self._docker(broker_id).logs(tail=3).decode(errors="replace").strip()
            raise ClusterError(f"broker {broker_id} ended: {said or 'it printed nothing'}")

    def faults(self) -> list[str]:
        """Return nothing: only processes have faults here."""
        return []

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

    async def undo_faults(self, left: Callable[[], float]) -> None:
        """Resume what is paused, and start what is dead."""
        for broker_id in self.ids:
            match self.state_of(broker_id):
                case "paused":
                    await self.resume(broker_id)
                case "dead":
                    await self.start_broker(broker_id, left())
                case _:
                    pass

    def _docker(self, broker_id: int) -> Any:
        self.check_known(broker_id)
        return self._brokers[broker_id].get_wrapped_container()


def _not_here(what: str) -> ClusterError:
    return ClusterError(f"{what} in containers: use barnabas.testing.Cluster, which needs no container")
