"""Effects of leader elections that a znode requests or that are scheduled."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.protocol.effects import Ask, ControllerFence, Effect


@dataclass(frozen=True, slots=True)
class ReadPreferredReplicaElection(Ask[tuple[TopicPartition, ...] | None]):
    """Read the partitions in ``/admin/preferred_replica_election``, and watch it.

    The answer is None if the node is missing, and has no partitions if the node cannot be decoded.
    """


@dataclass(frozen=True, slots=True)
class DeletePreferredReplicaElection(Ask[None]):
    """Delete ``/admin/preferred_replica_election``; a missing node is no failure."""

    fence: ControllerFence


@dataclass(frozen=True, slots=True)
class ScheduleLeaderRebalance(Effect):
    """Schedule `AutoPreferredReplicaLeaderElection` in ``delay_s`` seconds, replacing an earlier schedule."""

    delay_s: float


@dataclass(frozen=True, slots=True)
class CancelLeaderRebalance(Effect):
    """Cancel the schedule of `AutoPreferredReplicaLeaderElection`."""
