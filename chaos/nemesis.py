"""What is done to the brokers while the workload runs; each deed is first noted in the history."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from barnabas.chaos.history import History
from barnabas.cluster.model.ids import BrokerId
from barnabas.local.observe import ClusterView


class Victims(Protocol):
    """Broker processes that signals can reach; ``barnabas.local.cluster.LocalCluster`` is one."""

    def kill(self, broker_id: BrokerId) -> None:
        """SIGKILL, and wait until the process is gone."""
        ...

    def pause(self, broker_id: BrokerId) -> None:
        """SIGSTOP."""
        ...

    def resume(self, broker_id: BrokerId) -> None:
        """SIGCONT."""
        ...

    def restart(self, broker_id: BrokerId) -> None:
        """Start a dead broker again, with its old directory and ports."""
        ...


class Nemesis:
    """Chooses victims by what an ordinary client sees, and strikes.

    Args:
        victims: The processes.
        look: The cluster as it is seen now.
        history: Where each deed is noted.
    """

    def __init__(self, victims: Victims, look: Callable[[], ClusterView], history: History) -> None:
        self._victims = victims
        self._look = look
        self._history = history

    def kill_leader_of_most(self) -> BrokerId:
        """SIGKILL the broker that leads most partitions; its id.

        Raises:
            LookupError: No partition has a leader.
        """
        broker = self._look().leader_of_most()
        self._history.fault(f"SIGKILL broker {broker}, which leads most partitions")
        self._victims.kill(broker)
        return broker

    def kill_controller(self) -> BrokerId:
        """SIGKILL the broker that is the controller; its id.

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
        """SIGKILL this broker."""
        self._history.fault(f"SIGKILL broker {broker}")
        self._victims.kill(broker)

    def pause(self, broker: BrokerId) -> None:
        """SIGSTOP this broker."""
        self._history.fault(f"SIGSTOP broker {broker}")
        self._victims.pause(broker)

    def resume(self, broker: BrokerId) -> None:
        """SIGCONT this broker."""
        self._history.fault(f"SIGCONT broker {broker}")
        self._victims.resume(broker)

    def restart(self, broker: BrokerId) -> None:
        """Start this broker again."""
        self._history.fault(f"restart broker {broker}")
        self._victims.restart(broker)
