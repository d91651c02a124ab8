"""A nemesis that is called by hand; it records each fault in the history before injecting it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from barnabas.chaos.history import History
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.observe import ClusterView


class Victims(Protocol):
    """Broker processes that can be signalled, such as ``barnabas.local.cluster.LocalCluster``."""

    def kill(self, broker_id: BrokerId) -> None:
        """Send SIGKILL and wait until the process is gone."""
        ...

    def pause(self, broker_id: BrokerId) -> None:
        """Send SIGSTOP."""
        ...

    def resume(self, broker_id: BrokerId) -> None:
        """Send SIGCONT."""
        ...

    def restart(self, broker_id: BrokerId) -> None:
        """Start a dead broker again with its old directory and ports."""
        ...


class Nemesis:
    """A nemesis that chooses victims by what an ordinary client sees.

    Args:
        victims: The broker processes.
        look: Returns the cluster as a client sees it now.
        history: The history to which each fault is appended.
    """

    def __init__(self, victims: Victims, look: Callable[[], ClusterView], history: History) -> None:
        self._victims = victims
        self._look = look
        self._history = history

    def kill_leader_of_most(self) -> BrokerId:
        """Send SIGKILL to the broker that leads most partitions, and return its id.

        Raises:
            LookupError: No partition has a leader.
        """
        broker = self._look().leader_of_most()
        self._history.fault(f"SIGKILL broker {broker}, which leads most partitions")
        self._victims.kill(broker)
        return broker

    def kill_controller(self) -> BrokerId:
        """Send SIGKILL to the controller, and return its id.

        Raises:
            LookupError: There is no controller.
        """
        broker = self._look().controller
        if broker is None:
            raise LookupError("no broker is the controller")
        self._history.fault(f"SIGKILL broker {broker}, which is the controller")
        self._victims.kill(broker)
        return broker

    def kill(self, broker: BrokerId) -> None:
        """Send SIGKILL to a broker."""
        self._history.fault(f"SIGKILL broker {broker}")
        self._victims.kill(broker)

    def pause(self, broker: BrokerId) -> None:
        """Send SIGSTOP to a broker."""
        self._history.fault(f"SIGSTOP broker {broker}")
        self._victims.pause(broker)

    def resume(self, broker: BrokerId) -> None:
        """Send SIGCONT to a broker."""
        self._history.fault(f"SIGCONT broker {broker}")
        self._victims.resume(broker)

    def restart(self, broker: BrokerId) -> None:
        """Start a broker again."""
        self._history.fault(f"restart broker {broker}")
        self._victims.restart(broker)
