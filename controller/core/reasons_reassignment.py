"""Why the controller does what it does with reassignments."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.reasons import Reason


def _list(brokers: Collection[BrokerId]) -> str:
    return ", ".join(map(str, brokers)) or "none"


@dataclass(frozen=True, slots=True)
class ReassignmentRunning(Reason):
    """A reassignment has begun, or goes on under a new controller, and waits for its new replicas."""

    partition: TopicPartition
    assignment: Assignment

    def __str__(self) -> str:
        return (
            f"{self.partition} moves to {_list(self.assignment.target)}: adding "
            f"{_list(self.assignment.adding)}, removing {_list(self.assignment.removing)}"
        )


@dataclass(frozen=True, slots=True)
class ReassignmentCompleted(Reason):
    """Every target replica is in sync, and what had to go is told to."""

    partition: TopicPartition
    assignment: Assignment

    def __str__(self) -> str:
        return f"{self.partition} has its replicas on {_list(self.assignment.replicas)} now"


@dataclass(frozen=True, slots=True)
class ReassignmentHeld(Reason):
    """A reassignment could be completed but for a leader: no target replica can lead now."""

    partition: TopicPartition
    assignment: Assignment

    def __str__(self) -> str:
        return (
            f"{self.partition} keeps its replicas {_list(self.assignment.removing)}, because none of "
            f"{_list(self.assignment.target)} can lead now"
        )


@dataclass(frozen=True, slots=True)
class ReassignmentRefused(Reason):
    """A partition is not reassigned as asked."""

    partition: TopicPartition
    error: ErrorCode
    message: str

    def __str__(self) -> str:
        return f"reassignment of {self.partition} refused with {self.error.name}: {self.message}"


@dataclass(frozen=True, slots=True)
class ReassignmentsWithdrawn(Reason):
    """Entries were taken out of ``/admin/reassign_partitions``; without any left it is deleted."""

    partitions: tuple[TopicPartition, ...]
    left: int

    def __str__(self) -> str:
        gone = ", ".join(map(str, self.partitions)) or "what cannot be read"
        return f"taken out of /admin/reassign_partitions: {gone}; left there: {self.left}"
