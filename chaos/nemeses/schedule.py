"""The schedule of nemeses, which depends only on the seed. Pure.

A schedule is endless; a run takes as many steps as its time allows. The schedule goes through all nemeses in
a shuffled order, then through all again in another order, so that all occur equally often and a short run has
as many different ones as possible. From the second round on some come in pairs. The victims are chosen when a
fault is injected (``choose``), by random numbers in the step.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

from barnabas.cluster.model.ids import BrokerId
from barnabas.local.observe import ClusterView


class Needs(StrEnum):
    """The resource through which a nemesis works."""

    SIGNALS = "signals"
    NETWORK = "network"
    DISK = "disk"
    POWER = "power"
    PROCESS = "process"
    ZOOKEEPER = "zookeeper"


class Role(StrEnum):
    """The role of the brokers that a nemesis hits."""

    ANY = "any"
    LEADER = "leader"
    CONTROLLER = "controller"
    SEVERAL = "several"
    ALL = "all"
    NOBODY = "nobody"


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of nemesis.

    Attributes:
        name: The name, as in Jepsen's histories.
        needs: The resource through which it works.
        role: The role of its victims.
        hold_s: The shortest and the longest duration in seconds. A long one outlasts brokers' sessions and
            causes a failover; after a short one a broker may be back before the controller noticed.
        takes_copies: Whether the data on a broker's disks may be lost. Such a nemesis comes alone or with one
            that hits no broker, because only one of three copies may be lost at a time.
        flushed_only: Whether all copies of data that was not synced are lost, so that only topics survive
            that sync each write (``flush.messages=1``).
    """

    name: str
    needs: Needs
    role: Role
    hold_s: tuple[float, float]
    takes_copies: bool = False
    flushed_only: bool = False

    @property
    def is_cut(self) -> bool:
        """Return whether the nemesis cuts the network."""
        return self.needs is Needs.NETWORK and self.name.startswith(("partition", "cut"))


FLASH = (0.0, 2.0)
SHORT = (1.0, 4.0)
MIDDLING = (2.0, 10.0)
LONG = (8.0, 14.0)

KINDS: tuple[Kind, ...] = (
    Kind("kill-any", Needs.SIGNALS, Role.ANY, MIDDLING),
    Kind("kill-leader", Needs.SIGNALS, Role.LEADER, MIDDLING),
    Kind("kill-controller", Needs.SIGNALS, Role.CONTROLLER, MIDDLING),
    Kind("kill-several", Needs.SIGNALS, Role.SEVERAL, MIDDLING),
    Kind("kill-all", Needs.SIGNALS, Role.ALL, SHORT),
    Kind("term-any", Needs.SIGNALS, Role.ANY, SHORT),
    Kind("term-leader", Needs.SIGNALS, Role.LEADER, SHORT),
    Kind("term-controller", Needs.SIGNALS, Role.CONTROLLER, SHORT),
    Kind("pause-any", Needs.SIGNALS, Role.ANY, MIDDLING),
    Kind("pause-leader", Needs.SIGNALS, Role.LEADER, LONG),
    Kind("pause-controller", Needs.SIGNALS, Role.CONTROLLER, LONG),
    Kind("pause-several", Needs.SIGNALS, Role.SEVERAL, MIDDLING),
    Kind("partition-one-way", Needs.NETWORK, Role.ANY, LONG),
    Kind("partition-both-ways", Needs.NETWORK, Role.ANY, LONG),
    Kind("partition-leader", Needs.NETWORK, Role.LEADER, LONG),
    Kind("partition-controller", Needs.NETWORK, Role.CONTROLLER, LONG),
    Kind("cut-off", Needs.NETWORK, Role.LEADER, LONG),
    Kind("cut-from-zookeeper", Needs.NETWORK, Role.ANY, LONG),
    Kind("cut-controller-from-zookeeper", Needs.NETWORK, Role.CONTROLLER, LONG),
    Kind("cut-zookeeper-one-way", Needs.NETWORK, Role.ANY, LONG),
    Kind("cut-from-clients", Needs.NETWORK, Role.LEADER, LONG),
    Kind("slow-links", Needs.NETWORK, Role.ALL, LONG),
    Kind("lossy-links", Needs.NETWORK, Role.ALL, LONG),
    Kind("zookeeper-restart", Needs.ZOOKEEPER, Role.NOBODY, SHORT),
    Kind("zookeeper-kill", Needs.ZOOKEEPER, Role.NOBODY, MIDDLING),
    Kind("zookeeper-pause", Needs.ZOOKEEPER, Role.NOBODY, MIDDLING),
    Kind("zookeeper-leader-restart", Needs.ZOOKEEPER, Role.NOBODY, MIDDLING),
    Kind("zookeeper-leader-kill", Needs.ZOOKEEPER, Role.NOBODY, MIDDLING),
    Kind("zookeeper-leader-pause", Needs.ZOOKEEPER, Role.NOBODY, LONG),
    Kind("cut-zookeeper-leader", Needs.NETWORK, Role.NOBODY, LONG),
    Kind("session-expiry", Needs.ZOOKEEPER, Role.ANY, SHORT),
    Kind("session-expiry-controller", Needs.ZOOKEEPER, Role.CONTROLLER, SHORT),
    Kind("disk-full", Needs.DISK, Role.ANY, SHORT),
    Kind("disk-read-only", Needs.DISK, Role.ANY, LONG),
    Kind("power-cut-any", Needs.POWER, Role.ANY, MIDDLING, takes_copies=True),
    Kind("power-cut-leader", Needs.POWER, Role.LEADER, FLASH, takes_copies=True),
    Kind("power-cut-controller", Needs.POWER, Role.CONTROLLER, FLASH, takes_copies=True),
    Kind("power-cut-several", Needs.POWER, Role.SEVERAL, FLASH, takes_copies=True),
    Kind("power-cut-all", Needs.POWER, Role.ALL, SHORT, takes_copies=True, flushed_only=True),
    Kind("empty-directory", Needs.DISK, Role.ANY, MIDDLING, takes_copies=True),
    Kind("empty-leader", Needs.DISK, Role.LEADER, FLASH, takes_copies=True),
    Kind("empty-controller", Needs.DISK, Role.CONTROLLER, FLASH, takes_copies=True),
    Kind("empty-disks", Needs.DISK, Role.ANY, MIDDLING, takes_copies=True),
    Kind("damage-flip", Needs.DISK, Role.ANY, SHORT, takes_copies=True),
    Kind("damage-zeros", Needs.DISK, Role.LEADER, SHORT, takes_copies=True),
    Kind("kill-cleaner", Needs.PROCESS, Role.ANY, FLASH),
    Kind("clock-back-leader", Needs.PROCESS, Role.LEADER, MIDDLING),
    Kind("clock-back-all", Needs.PROCESS, Role.ALL, MIDDLING),
    Kind("duplicate-id", Needs.PROCESS, Role.ANY, MIDDLING),
    Kind("duplicate-id-of-paused", Needs.PROCESS, Role.LEADER, SHORT),
    Kind("wipe-registration", Needs.ZOOKEEPER, Role.LEADER, SHORT),
    Kind("wipe-controller", Needs.ZOOKEEPER, Role.CONTROLLER, SHORT),
    Kind("wipe-both", Needs.ZOOKEEPER, Role.CONTROLLER, SHORT),
    Kind("wipe-all-registrations", Needs.ZOOKEEPER, Role.ALL, SHORT),
)
"""All kinds of nemesis."""

BY_NAME = {kind.name: kind for kind in KINDS}

PAIRS_FRACTION = 0.25
"""The fraction of steps, from the second round on, that are pairs."""

CALM_S = (1.0, 4.0)
"""The shortest and the longest pause in seconds between a recovery and the next fault."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step: inject faults, hold them, heal.

    Attributes:
        number: The number of the step, from 1.
        kinds: The nemeses injected at once, which are healed in reverse order.
        hold_s: The duration of the faults in seconds.
        calm_s: The pause before the step in seconds.
        dice: A random number for each kind, by which its victims are chosen.
    """

    number: int
    kinds: tuple[Kind, ...]
    hold_s: float
    calm_s: float
    dice: tuple[int, ...]

    @property
    def name(self) -> str:
        """Return the names of the kinds, joined."""
        return "+".join(kind.name for kind in self.kinds)


def schedule(seed: int, kinds: Sequence[Kind] = KINDS) -> Iterator[Step]:
    """Generate the endless schedule of a seed.

    If ``kinds`` include a cut, one of the first three steps is a cut, so that a run too short for a whole
    round has one.
    """
    dice = random.Random(seed)
    number, first = 0, True
    while True:
        order = list(kinds)
        dice.shuffle(order)
        if first:
            _bring_a_cut_forward(order, dice.randrange(3))
        while order:
            taken = [order.pop(0)]
            if not first and order and dice.random() < PAIRS_FRACTION and _may_meet(taken[0], order[0]):
                taken.append(order.pop(0))
            number += 1
            yield Step(
                number,
                tuple(taken),
                hold_s=max(dice.uniform(*kind.hold_s) for kind in taken),
                calm_s=dice.uniform(*CALM_S),
                dice=tuple(dice.randrange(1 << 30) for _ in taken),
            )
        first = False


def _may_meet(one: Kind, other: Kind) -> bool:
    """Return whether two kinds may be paired; one that loses data may not meet one that hits brokers."""
    return not any(a.takes_copies and b.role is not Role.NOBODY for a, b in ((one, other), (other, one)))


def _bring_a_cut_forward(order: list[Kind], place: int) -> None:
    at = next((n for n, kind in enumerate(order) if kind.is_cut), None)
    if at is not None and at > place:
        order.insert(place, order.pop(at))


def choose(role: Role, die: int, view: ClusterView, standing: Iterable[BrokerId]) -> tuple[BrokerId, ...]:
    """Choose the victims of a nemesis with this role.

    Args:
        role: The role of the victims.
        die: The random number that decides between several candidates.
        view: The cluster as clients see it; if it has no leader or controller, every broker is a candidate.
        standing: The brokers that no other nemesis of this step has hit.

    Returns:
        The victims in an order that the die decides; empty if no broker is left.
    """
    order = sorted(standing)
    random.Random(die).shuffle(order)
    match role:
        case Role.NOBODY:
            return ()
        case Role.ALL:
            return tuple(order)
        case Role.SEVERAL:
            return tuple(order[:2])
        case Role.CONTROLLER if view.controller in order:
            return (view.controller,)
        case Role.LEADER:
            leaders = {partition.leader for partition in view.partitions.values()}
            return tuple([broker for broker in order if broker in leaders][:1] or order[:1])
        case _:
            return tuple(order[:1])
