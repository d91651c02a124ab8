"""Everything there is to strike at: brokers, their ZooKeepers, what lies between all of them, and disks."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from barnabas.chaos.disk import SmallDisk
from barnabas.chaos.power import PowerDisk
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.cluster import ClusterError
from barnabas.local.ensemble import Ensemble


class Broker(Protocol):
    """A broker that may run; ``barnabas.local.broker_process.BrokerProcess`` is one."""

    @property
    def id(self) -> BrokerId:
        """Its broker.id."""
        ...

    @property
    def directory(self) -> Path:
        """Where its log directories lie, as this process sees them."""
        ...

    @property
    def pid(self) -> int | None:
        """Its process id, or None while it does not run."""
        ...

    @property
    def exit_status(self) -> int | None:
        """How its last process ended, or None where that still runs."""
        ...

    def signal(self, number: signal.Signals) -> None:
        """Send a signal; does nothing where no process runs."""
        ...

    def last_words(self) -> str:
        """The last line it printed."""
        ...


class Second(Broker, Protocol):
    """A second process under the id of a broker that runs."""

    def said(self) -> str:
        """All that it printed."""
        ...


class Brokers(Protocol):
    """A cluster to strike, as ``barnabas.local.cluster.LocalCluster`` is; its errors are ClusterErrors."""

    @property
    def brokers(self) -> Mapping[BrokerId, Broker]:
        """By id."""
        ...

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` for clients."""
        ...

    def kill(self, broker_id: BrokerId) -> None:
        """SIGKILL, and wait for its end."""
        ...

    def terminate(self, broker_id: BrokerId, timeout_s: float) -> None:
        """SIGTERM, and wait for its end; does nothing where it does not run."""
        ...

    def pause(self, broker_id: BrokerId) -> None:
        """SIGSTOP."""
        ...

    def resume(self, broker_id: BrokerId) -> None:
        """SIGCONT."""
        ...

    def restart(self, broker_id: BrokerId, *, wait: bool) -> None:
        """Start a broker that does not run, without waiting for it where ``wait`` is False."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until all brokers serve."""
        ...


class Network(Protocol):
    """What can be done to a network; ``barnabas.chaos.links.Links`` is one."""

    def cut(self, ways: Iterable[tuple[str, str]]) -> None:
        """Each from the first node to the second."""
        ...

    def lose(self, node: str, fraction: float) -> None:
        """Of what arrives."""
        ...

    def slow(self, node: str) -> None:
        """What it sends."""
        ...

    def heal(self) -> int:
        """Undo everything; how many packets were dropped by cuts."""
        ...


def _lie_there(_: Path) -> None:
    """Logs that are below it already."""


def _no_second(broker: BrokerId) -> Second:
    raise ClusterError(f"no second broker {broker} can be started here")


@dataclass(frozen=True)
class Arena:
    """Everything there is to strike at.

    Attributes:
        cluster: The brokers.
        ensemble: Their ZooKeepers.
        links: Between all of them; nodes are named as the ensemble's servers, and ``broker-1``, …
        disks: The small disk of each broker that has one.
        log_dirs: The log directories of each broker, where this process can reach them.
        power: The disks of each broker's log directories, where their power can be cut.
        duplicate: Starts a second process under a broker's id, with its advertised endpoints and directories
            of its own.
        gather: Has the brokers' and the ZooKeepers' logs lie below a directory, for the judge.
    """

    cluster: Brokers
    ensemble: Ensemble
    links: Network
    disks: Mapping[BrokerId, SmallDisk] = field(default_factory=dict)
    log_dirs: Mapping[BrokerId, tuple[Path, ...]] = field(default_factory=dict)
    power: Mapping[BrokerId, tuple[PowerDisk, ...]] = field(default_factory=dict)
    duplicate: Callable[[BrokerId], Second] = _no_second
    gather: Callable[[Path], None] = _lie_there

    @property
    def zookeepers(self) -> list[str]:
        """The nodes of the ensemble."""
        return list(self.ensemble.servers)

    def others(self, broker: BrokerId) -> list[str]:
        """The nodes of the other brokers."""
        return [node_of(other) for other in self.cluster.brokers if other != broker]


def node_of(broker: BrokerId) -> str:
    """The name of a broker's node in the network."""
    return f"broker-{broker}"
