"""The actions of the page's buttons on a cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from typing import Protocol

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.zk.schema import paths
from barnabas.local.control import BrokerState
from barnabas.local.errors import ClusterError
from barnabas.local.expiry import expire_owner
from barnabas.local.supervisor import Supervisor
from barnabas.local.switches import Switches
from barnabas.local.zookeeper_wire import WireError


class Action(StrEnum):
    """An action on a broker."""

    KILL = "kill"
    STOP = "stop"
    START = "start"
    PAUSE = "pause"
    RESUME = "resume"
    EXPIRE = "expire"
    CUT = "cut"
    HEAL = "heal"


WORDS = {
    Action.KILL: "SIGKILL to broker {}",
    Action.STOP: "SIGTERM to broker {}: a controlled shutdown",
    Action.START: "Broker {} is started",
    Action.PAUSE: "SIGSTOP to broker {}: it hangs",
    Action.RESUME: "SIGCONT to broker {}: it goes on",
    Action.EXPIRE: "The ZooKeeper session of broker {} is ended",
    Action.CUT: "Broker {} is cut off from ZooKeeper and the other brokers",
    Action.HEAL: "Broker {} is connected again",
}
"""The words about an action in the history."""


class ControlError(Exception):
    """An error of an action; the message names the broker and the obstacle."""


class Controls(Protocol):
    """The actions on a cluster, and the state of its processes."""

    def processes(self) -> Mapping[int, BrokerState]:
        """Return the state of each broker's process by id; empty if this page does not own them."""
        ...

    def actions(self) -> frozenset[Action]:
        """Return the actions that there are here."""
        ...

    async def act(self, action: Action, broker: int) -> None:
        """Carry out an action.

        Raises:
            ControlError: There is no such broker, or the action cannot be carried out now.
        """
        ...


class NoControls:
    """The controls of a page that only watches."""

    def processes(self) -> Mapping[int, BrokerState]:
        """Return nothing: the processes belong to others."""
        return {}

    def actions(self) -> frozenset[Action]:
        """Return nothing."""
        return frozenset()

    async def act(self, action: Action, broker: int) -> None:
        """Refuse every action."""
        raise ControlError(f"this page only watches: it cannot {action} broker {broker}")


class LocalControls:
    """The actions on the processes of a local cluster.

    Args:
        supervisor: The supervisor of the cluster, so that it starts nothing again that a button killed.
        zookeeper: The connect string; None if ZooKeeper requires a login, and no session can be ended here.
        switches: The switches between the brokers; None if no broker can be cut off.
    """

    def __init__(
        self, supervisor: Supervisor, zookeeper: str | None, switches: Switches | None = None
    ) -> None:
        self._supervisor = supervisor
        self._switches = switches
        self._zookeeper = zookeeper
        self._threads = ThreadPoolExecutor(thread_name_prefix="page-control")

    def processes(self) -> Mapping[int, BrokerState]:
        """Return the state of each broker's process by id."""
        return {int(broker): state for broker, state in self._supervisor.processes().items()}

    def actions(self) -> frozenset[Action]:
        """Return all actions, without those that need switches or a ZooKeeper without a login."""
        without = set() if self._switches is not None else {Action.CUT, Action.HEAL}
        if self._zookeeper is None:
            without.add(Action.EXPIRE)
        return frozenset(Action) - without

    async def act(self, action: Action, broker: int) -> None:
        """Carry out an action; it returns when the process has ended, or the broker serves."""
        calls: dict[Action, Callable[[BrokerId], None]] = {
            Action.KILL: self._supervisor.kill,
            Action.STOP: self._supervisor.stop,
            Action.START: self._supervisor.start,
            Action.PAUSE: self._supervisor.pause,
            Action.RESUME: self._supervisor.resume,
            Action.EXPIRE: self._expire,
        }
        if self._switches is not None:
            calls |= {Action.CUT: self._switches.cut, Action.HEAL: self._switches.heal}
        if action not in calls:
            raise ControlError(f"cannot {action} broker {broker}: this cluster has no switches")
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, calls[action], BrokerId(broker))
        except (ClusterError, WireError, OSError) as error:
            raise ControlError(f"cannot {action} broker {broker}: {error}") from error

    def _expire(self, broker: BrokerId) -> None:
        if self._supervisor.processes().get(broker) is not BrokerState.RUNNING:
            raise ClusterError(f"broker {broker} does not run")
        if self._zookeeper is None:
            raise ClusterError("ZooKeeper requires a login, and lets nobody end the session of another")
        expire_owner(self._zookeeper, paths.broker(broker))
