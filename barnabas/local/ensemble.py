"""A local ensemble of ZooKeeper servers."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from barnabas.local.place import HERE, Place
from barnabas.local.ports import free_ports
from barnabas.local.zookeeper import EmbeddedZooKeeper, Membership
from barnabas.local.zookeeper_jars import ZooKeeperStartError

START_TIMEOUT_S = 60.0
"""The timeout of a start in seconds; an election takes a few seconds, more on a busy machine."""


class Server(Protocol):
    """A ZooKeeper server as fault target, such as ``barnabas.local.zookeeper.EmbeddedZooKeeper``."""

    @property
    def address(self) -> str:
        """The address as ``host:port``."""
        ...

    @property
    def pid(self) -> int | None:
        """The process id; None while the server does not run."""
        ...

    def mode(self) -> str | None:
        """Return the mode, ``leader`` or ``follower``; None while the server does not serve."""
        ...

    def launch(self) -> None:
        """Start the server without waiting for it."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until the server serves; raise ZooKeeperStartError if it does not in time."""
        ...

    def stop(self) -> None:
        """Send SIGTERM and wait for the server's end."""
        ...

    def kill(self) -> None:
        """Send SIGKILL and wait for the server's end."""
        ...

    def pause(self) -> None:
        """Send SIGSTOP and wait until the server stands still."""
        ...

    def resume(self) -> None:
        """Send SIGCONT."""
        ...


class Ensemble:
    """An ensemble of servers, which serves while a majority runs.

    Attributes:
        servers: The servers by name.
    """

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = dict(servers)

    @property
    def address(self) -> str:
        """The addresses of all servers, for ``zookeeper.connect``."""
        return ",".join(server.address for server in self.servers.values())

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start the servers that do not run, and wait until all serve.

        Raises:
            ZooKeeperStartError: One cannot run, ended, or did not serve in time.
        """
        self.launch()
        self.wait_ready(timeout_s)

    def launch(self) -> None:
        """Start the servers that do not run, without waiting for them.

        Raises:
            ZooKeeperStartError: A server cannot run.
        """
        for server in self.servers.values():
            if server.pid is None:
                server.launch()

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Wait until all servers serve.

        Raises:
            ZooKeeperStartError: One ended, or did not serve in time; it is killed then.
        """
        deadline = time.monotonic() + timeout_s
        for server in self.servers.values():
            server.wait_ready(max(0.0, deadline - time.monotonic()))

    def leader(self) -> str:
        """Return the name of the leader.

        Raises:
            ZooKeeperStartError: There is no leader at the moment.
        """
        modes = {name: server.mode() for name, server in self.servers.items()}
        leaders = [name for name, mode in modes.items() if mode == "leader"]
        if len(leaders) != 1:
            raise ZooKeeperStartError(f"the ensemble has no leader now: {modes}")
        return leaders[0]

    def stop(self) -> None:
        """Stop all servers."""
        for server in self.servers.values():
            server.stop()

    def kill(self) -> None:
        """Send SIGKILL to all servers and wait for their end."""
        for server in self.servers.values():
            server.kill()

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()


def local_ensemble(
    directory: Path | str, members: int = 3, places: Mapping[str, Place] | None = None
) -> Ensemble:
    """Create embedded servers ``zookeeper-1`` … ``zookeeper-n``, each in a folder below ``directory``.

    The rules of ``EmbeddedZooKeeper`` apply to each of them.

    Args:
        directory: The parent folder, which is created if it does not exist.
        members: The number of servers.
        places: The place of each server by name, if other than loopback.

    Raises:
        PortError: There are no free ports.
    """
    names = names_of(members)
    found = {name: (places or {}).get(name, HERE) for name in names}
    ports = iter(free_ports(3 * members))
    listeners = {
        number: f"{found[name].host}:{next(ports)}:{next(ports)}"
        for number, name in enumerate(names, start=1)
    }
    return Ensemble(
        {
            name: EmbeddedZooKeeper(
                Path(directory) / name,
                next(ports),
                place=found[name],
                membership=Membership(number, listeners),
            )
            for number, name in enumerate(names, start=1)
        }
    )


def names_of(members: int) -> tuple[str, ...]:
    """Return the names of an ensemble's servers."""
    return tuple(f"zookeeper-{number}" for number in range(1, members + 1))
