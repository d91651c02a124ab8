"""Effects of leader elections that a znode asks for, or that come by the clock."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.protocol.effects import Ask, ControllerFence, Effect


@dataclass(frozen=True, slots=True)
class ReadPreferredReplicaElection(Ask[tuple[TopicPartition, ...] | None]):
    """The partitions in ``/admin/preferred_replica_election``; watches it.

    None where there is no such node; no partitions where it cannot be read.
    """


@dataclass(frozen=True, slots=True)
class DeletePreferredReplicaElection(Ask[None]):
    """Delete ``/admin/preferred_replica_election``; that it is gone already is no failure."""

    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class ScheduleLeaderRebalance(Effect):
    """Have `AutoPreferredReplicaLeaderElection` come in ``delay_s`` seconds, instead of when it was due."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class CancelLeaderRebalance(Effect):
    """Let `AutoPreferredReplicaLeaderElection` not come any more."""
