"""The targets of faults: brokers, ZooKeepers, the network between them, and disks."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from barnabas.chaos.targets.disk import SmallDisk
from barnabas.chaos.targets.power import PowerDisk
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.ensemble import Ensemble
from barnabas.local.errors import ClusterError


class Broker(Protocol):
    """A broker, running or not, such as ``barnabas.local.broker_process.BrokerProcess``."""

    @property
    def id(self) -> BrokerId:
        """The broker.id."""
        ...

    @property
    def directory(self) -> Path:
        """The folder of the broker's log directories, as this process sees it."""
        ...

    @property
    def pid(self) -> int | None:
        """The process id; None while the broker does not run."""
        ...

    @property
    def exit_status(self) -> int | None:
        """The exit status of the last process; None while it runs."""
        ...

    def signal(self, number: signal.Signals) -> None:
        """Send a signal, if the process runs."""
        ...

    def last_words(self) -> str:
        """Return the last line that the process printed."""
        ...


class Second(Broker, Protocol):
    """A second process with the id of a running broker."""

    def said(self) -> str:
        """Return everything that the process printed."""
        ...


class Brokers(Protocol):
    """A cluster as fault target, such as ``barnabas.local.cluster.LocalCluster``; it raises ClusterErrors."""

    @property
    def brokers(self) -> Mapping[BrokerId, Broker]:
        """The brokers by id."""
        ...

    @property
    def bootstrap(self) -> str:
        """``bootstrap.servers`` for clients."""
        ...

    def kill(self, broker_id: BrokerId) -> None:
        """Send SIGKILL and wait for the end of the process."""
        ...

    def terminate(self, broker_id: BrokerId, timeout_s: float) -> None:
        """Send SIGTERM and wait for the end of the process, if it runs."""
        ...

    def pause(self, broker_id: BrokerId) -> None:
        """Send SIGSTOP and wait until the process stands still."""
        ...

    def resume(self, broker_id: BrokerId) -> None:
        """Send SIGCONT."""
        ...

    def restart(self, broker_id: BrokerId, *, wait: bool) -> None:
        """Start a broker that does not run, and wait until it serves if ``wait`` is set."""
        ...

    def wait_ready(self, timeout_s: float) -> None:
        """Wait until all brokers serve."""
        ...


class Network(Protocol):
    """The faults of a network, such as ``barnabas.chaos.targets.links.Links``."""

    def cut(self, ways: Iterable[tuple[str, str]]) -> None:
        """Drop everything from the first node of each pair to the second."""
        ...

    def lose(self, node: str, fraction: float) -> None:
        """Drop a fraction of the packets that arrive at a node."""
        ...

    def slow(self, node: str) -> None:
        """Slow down what a node sends."""
        ...

    def heal(self) -> int:
        """Undo all faults and return the number of packets that cuts dropped."""
        ...


def _lie_there(_: Path) -> None:
    """Do nothing: the logs are below the directory already."""


def _no_second(broker: BrokerId) -> Second:
    raise ClusterError(f"no second broker {broker} can be started here")


def _no_failpoints(broker: BrokerId, failpoint: str, action: str) -> None:
    raise ClusterError(f"{failpoint}={action} cannot be armed in broker {broker} here")


@dataclass(frozen=True)
class Targets:
    """The targets of faults.

    Attributes:
        cluster: The brokers.
        ensemble: The ZooKeepers.
        links: The network between all of them. Nodes have the names of the ensemble's servers, and
            ``broker-1``, ``broker-2`` and so on.
        disks: The small disk of each broker, if it has one.
        log_dirs: The log directories of each broker, if this process can reach them.
        power: The disks of each broker's log directories, if their power can be cut.
        duplicate: Starts a second process with a broker's id and advertised endpoints, and new directories.
        arm: Arms a failpoint of a broker that runs, with an action; raises OSError if it does not answer.
        gather: Copies the logs of brokers and ZooKeepers below a directory for the checker.
    """

    cluster: Brokers
    ensemble: Ensemble
    links: Network
    disks: Mapping[BrokerId, SmallDisk] = field(default_factory=dict)
    log_dirs: Mapping[BrokerId, tuple[Path, ...]] = field(default_factory=dict)
    power: Mapping[BrokerId, tuple[PowerDisk, ...]] = field(default_factory=dict)
    duplicate: Callable[[BrokerId], Second] = _no_second
    arm: Callable[[BrokerId, str, str], None] = _no_failpoints
    gather: Callable[[Path], None] = _lie_there

    @property
    def zookeepers(self) -> list[str]:
        """Return the names of the ensemble's nodes."""
        return list(self.ensemble.servers)

    def others(self, broker: BrokerId) -> list[str]:
        """Return the names of the other brokers' nodes."""
        return [node_of(other) for other in self.cluster.brokers if other != broker]


def node_of(broker: BrokerId) -> str:
    """Return the name of a broker's node in the network."""
    return f"broker-{broker}"
