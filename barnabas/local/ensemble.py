"""An ensemble of ZooKeepers: servers that elect a leader and agree on every write."""

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
"""Members are seconds at an election; a machine that does other work beside gets more."""


class Server(Protocol):
    """A ZooKeeper that can be started and struck; ``barnabas.local.zookeeper.EmbeddedZooKeeper`` is one."""

    @property
    def address(self) -> str:
        """``host:port``."""
        ...

    @property
    def pid(self) -> int | None:
        """Its process id, or None while it does not run."""
        ...

    def mode(self) -> str | None:
        """``leader`` or ``follower``; None while it serves nobody."""
        ...

    def launch(self) -> None:
        """Start it, without waiting for it."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Return when it serves; ZooKeeperStartError where it does not in time."""
        ...

    def stop(self) -> None:
        """SIGTERM, and wait for its end."""
        ...

    def kill(self) -> None:
        """SIGKILL, and wait for its end."""
        ...

    def pause(self) -> None:
        """SIGSTOP."""
        ...

    def resume(self) -> None:
        """SIGCONT."""
        ...


class Ensemble:
    """Servers of which most must run for the ensemble to serve.

    Attributes:
        servers: By name.
    """

    def __init__(self, servers: Mapping[str, Server]) -> None:
        self.servers = dict(servers)

    @property
    def address(self) -> str:
        """All of them, as ``zookeeper.connect`` takes it."""
        return ",".join(server.address for server in self.servers.values())

    def start(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Start those that do not run, and return when all of them serve.

        Raises:
            ZooKeeperStartError: One cannot run, ended, or did not serve in time.
        """
        self.launch()
        self.wait_ready(timeout_s)

    def launch(self) -> None:
        """Start those that do not run, without waiting for them.

        Raises:
            ZooKeeperStartError: One cannot run.
        """
        for server in self.servers.values():
            if server.pid is None:
                server.launch()

    def wait_ready(self, timeout_s: float = START_TIMEOUT_S) -> None:
        """Return when all serve.

        Raises:
            ZooKeeperStartError: One ended, or did not serve in time; it is killed then.
        """
        deadline = time.monotonic() + timeout_s
        for server in self.servers.values():
            server.wait_ready(max(0.0, deadline - time.monotonic()))

    def leader(self) -> str:
        """The name of the one that leads.

        Raises:
            ZooKeeperStartError: None does now.
        """
        modes = {name: server.mode() for name, server in self.servers.items()}
        leaders = [name for name, mode in modes.items() if mode == "leader"]
        if len(leaders) != 1:
            raise ZooKeeperStartError(f"the ensemble has no leader now: {modes}")
        return leaders[0]

    def stop(self) -> None:
        """Stop all of them."""
        for server in self.servers.values():
            server.stop()

    def kill(self) -> None:
        """End all of them with SIGKILL."""
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
    """Embedded servers ``zookeeper-1`` … ``zookeeper-n``, each below ``directory`` in one of its own.

    What holds for an ``EmbeddedZooKeeper`` holds for each of them.

    Args:
        directory: Created where it is not there.
        members: How many.
        places: Where each lives, by its name, if elsewhere than on loopback.

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
    """The names of an ensemble's servers."""
    return tuple(f"zookeeper-{number}" for number in range(1, members + 1))
