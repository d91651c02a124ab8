"""The five ways to elect a partition's leader (Kafka: ``PartitionLeaderElectionAlgorithms``).

Each is a function of the facts passed in. Every success raises the leader epoch by one, even if the leader
stays the same. A failure names its cause and changes nothing.
Source: docs/kafka/state-machines.md, Elections (``Election``).
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum

from barnabas.cluster.model.ids import BrokerId
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr


@dataclass(frozen=True, slots=True)
class OfflineElection:
    """The strategy for a partition without a live leader.

    Attributes:
        allow_unclean: Whether the request allows a leader from outside the ISR, whatever the settings.
    """

    allow_unclean: bool = False

    def __str__(self) -> str:
        return f"OfflinePartitionLeaderElectionStrategy({str(self.allow_unclean).lower()})"


class OtherElection(Enum):
    """The strategies without parameters; each prints as Kafka names it."""

    REASSIGN = "ReassignPartitionLeaderElectionStrategy"
    PREFERRED = "PreferredReplicaPartitionLeaderElectionStrategy"
    CONTROLLED_SHUTDOWN = "ControlledShutdownPartitionLeaderElectionStrategy"
    DAMAGED_LEADER = "DamagedLeaderPartitionLeaderElectionStrategy"

    def __str__(self) -> str:
        return self.value


Strategy = OfflineElection | OtherElection
"""The strategy of an election."""


class NoLeader(Enum):
    """The reason why no leader could be chosen; the value ends the sentence "no leader, because ..."."""

    NO_LIVE_REPLICA = "no assigned replica is live"
    NO_LIVE_ISR_MEMBER = "no in-sync replica is live, and an unclean election is not allowed"
    NO_TARGET_IN_ISR = "no target replica is live and in sync"
    PREFERRED_NOT_IN_ISR = "the preferred replica is not live and in sync"
    NO_OTHER_ISR_MEMBER = "no in-sync replica stays behind"


@dataclass(frozen=True, slots=True)
class Elected:
    """A leader was chosen.

    Attributes:
        leader_and_isr: What to write: the new leader and ISR in the next leader epoch, under the version
            known.
        recipients: The brokers that get it by LeaderAndIsr.
        unclean: Whether the leader comes from outside the ISR, so that records may be lost.
    """

    leader_and_isr: LeaderAndIsr
    recipients: tuple[BrokerId, ...]
    unclean: bool = False


def offline(
    known: LeaderAndIsr,
    assignment: Assignment,
    online: Collection[BrokerId],
    *,
    unclean_allowed: bool,
    kept: Collection[BrokerId] = (),
) -> Elected | NoLeader:
    """Elect the first replica that is live and in sync; else, if allowed, the first live one.

    Args:
        known: The present leadership.
        assignment: The partition's replicas, in whose order candidates are tried.
        online: The live replicas, without those on brokers that are shutting down.
        unclean_allowed: Whether a replica outside the ISR may become leader if nobody in it is live.
        kept: The members of the ISR that stay in it although they are not live
            (`ControllerContext.kept_in_sync`); an unclean election keeps none.
    """
    live = tuple(replica for replica in assignment.replicas if replica in online)
    for replica in live:
        if replica in known.isr:
            isr = tuple(member for member in known.isr if member in online or member in kept)
            return Elected(known.new_leader(replica, isr), live)
    if not live:
        return NoLeader.NO_LIVE_REPLICA
    if not unclean_allowed:
        return NoLeader.NO_LIVE_ISR_MEMBER
    return Elected(known.new_leader(live[0], live[:1]), live, unclean=True)


def reassign(known: LeaderAndIsr, assignment: Assignment, online: Collection[BrokerId]) -> Elected | NoLeader:
    """Elect the first target replica that is live and in sync; the ISR stays."""
    for replica in assignment.target:
        if replica in online and replica in known.isr:
            return Elected(known.new_leader(replica, known.isr), assignment.target)
    return NoLeader.NO_TARGET_IN_ISR


def preferred(
    known: LeaderAndIsr, assignment: Assignment, online: Collection[BrokerId]
) -> Elected | NoLeader:
    """Elect the first replica of the assignment and no other; the ISR stays."""
    for replica in assignment.replicas[:1]:
        if replica in online and replica in known.isr:
            return Elected(known.new_leader(replica, known.isr), assignment.replicas)
    return NoLeader.PREFERRED_NOT_IN_ISR


def damaged_leader(
    known: LeaderAndIsr, assignment: Assignment, online: Collection[BrokerId]
) -> Elected | NoLeader:
    """Elect the first replica that is live, in sync and not the leader; the ISR stays.

    Kafka has no such election: its leaders never find out that their logs are damaged. The damaged replica
    has everything committed except the damaged range. It stays in the ISR while it fetches that range
    again.
    """
    for replica in assignment.replicas:
        if replica in online and replica in known.isr and replica != known.leader:
            return Elected(known.new_leader(replica, known.isr), assignment.replicas)
    return NoLeader.NO_OTHER_ISR_MEMBER


def controlled_shutdown(
    known: LeaderAndIsr,
    assignment: Assignment,
    online: Collection[BrokerId],
    shutting_down: Collection[BrokerId],
) -> Elected | NoLeader:
    """Elect the first replica in sync whose broker is not shutting down; the others leave the ISR.

    Args:
        known: The present leadership.
        assignment: The partition's replicas.
        online: The replicas that are live or shutting down. All of them get LeaderAndIsr.
        shutting_down: The brokers that are shutting down.
    """
    reachable = tuple(replica for replica in assignment.replicas if replica in online)
    isr = tuple(member for member in known.isr if member not in shutting_down)
    for replica in reachable:
        if replica in isr:
            return Elected(known.new_leader(replica, isr), reachable)
    return NoLeader.NO_OTHER_ISR_MEMBER
