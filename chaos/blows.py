"""A fault that was injected, and what nemeses have in common: brokers that are killed and started again."""

from __future__ import annotations

import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from barnabas.chaos.arena import Arena
from barnabas.cluster.model.ids import BrokerId

TERMINATE_TIMEOUT_S = 120.0
"""A controlled shutdown takes seconds; longer than this, on whatever machine, and it hangs."""

Heal = Callable[[], None]


def _nothing() -> str:
    """Nothing is lacking."""
    return ""


@dataclass(frozen=True)
class Blow:
    """What was done.

    Attributes:
        detail: To whom, in words.
        heal: Undoes it, without waiting for ZooKeepers; raises ClusterError or ZooKeeperStartError where that
            does not work, or a broker did not end as it should.
        deadly: Brokers that may end by themselves of it.
        lacking: Asked again and again after the healing: what is not yet as it was, in words, or nothing;
            raises OSError or WireError where nobody can say now.
        missed: Why it did less than its name says and does not count, or nothing.
    """

    detail: str
    heal: Heal
    deadly: tuple[BrokerId, ...] = ()
    lacking: Callable[[], str] = _nothing
    missed: str = ""


def names(victims: Sequence[BrokerId]) -> str:
    """The victims in words, such as ``brokers 1, 3``."""
    return f"broker{'s' if len(victims) > 1 else ''} {', '.join(map(str, victims))}"


def kill(arena: Arena, victims: tuple[BrokerId, ...]) -> Blow:
    """SIGKILL all at once; they are started again."""
    for broker in victims:
        arena.cluster.brokers[broker].signal(signal.SIGKILL)
    for broker in victims:
        arena.cluster.kill(broker)  # waits for its end

    return Blow(f"SIGKILL {names(victims)}", lambda: restart(arena, victims))


def restart(arena: Arena, brokers: Sequence[BrokerId]) -> None:
    """Start brokers again, after stopping cleanly those that run; without waiting until they serve."""
    for broker in brokers:
        arena.cluster.terminate(broker, TERMINATE_TIMEOUT_S)
        arena.cluster.restart(broker, wait=False)
