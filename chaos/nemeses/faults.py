"""Injected faults, and the killing and restarting of brokers that many nemeses share."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barnabas.chaos.targets.targets import Targets
from barnabas.cluster.model.ids import BrokerId

TERMINATE_TIMEOUT_S = 120.0
"""The longest time for a controlled shutdown, which takes seconds; beyond it the broker hangs."""

Heal = Callable[[], None]


def _nothing() -> str:
    """Return that nothing is left to undo."""
    return ""


@dataclass(frozen=True)
class InjectedFault:
    """A fault that was injected, and how to undo it.

    Attributes:
        detail: A description with the victims.
        heal: Undoes the fault without waiting for ZooKeepers. Raises ClusterError or ZooKeeperStartError if
            that fails, or if a broker did not end as it should.
        deadly: Brokers that may end by themselves because of the fault.
        lacking: Polled after ``heal``: returns what is not yet as before, or an empty text. Raises OSError or
            WireError if that cannot be found out at the moment.
        missed: The reason why the fault did less than its name says and does not count; empty if it counts.
    """

    detail: str
    heal: Heal
    deadly: tuple[BrokerId, ...] = ()
    lacking: Callable[[], str] = _nothing
    missed: str = ""


def names(victims: Sequence[BrokerId]) -> str:
    """Format the victims, for example as ``brokers 1, 3``."""
    return f"broker{'s' if len(victims) > 1 else ''} {', '.join(map(str, victims))}"


def kill(targets: Targets, victims: tuple[BrokerId, ...]) -> InjectedFault:
    """Send SIGKILL to all victims at once; healing starts them again."""
    for broker in victims:
        targets.cluster.brokers[broker].signal(signal.SIGKILL)
    for broker in victims:
        targets.cluster.kill(broker)  # this waits for the end of the process

    return InjectedFault(f"SIGKILL {names(victims)}", lambda: restart(targets, victims))


def restart(targets: Targets, brokers: Sequence[BrokerId]) -> None:
    """Stop the brokers that run, start all of them, and do not wait until they serve."""
    for broker in brokers:
        targets.cluster.terminate(broker, TERMINATE_TIMEOUT_S)
        targets.cluster.restart(broker, wait=False)
