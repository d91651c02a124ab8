"""Commands about partition reassignment (KIP-455; api keys 45 and 46), and what they are answered.

Source: ``AlterPartitionReassignmentsRequest.json`` and ``ListPartitionReassignmentsRequest.json`` of release
2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.commands import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment


@dataclass(frozen=True, slots=True)
class ReassignmentResult:
    """What became of the reassignment of one partition.

    Attributes:
        error: ``NONE`` where it has begun, is done, or is cancelled.
        message: A sentence that names the thing, the value and what was expected; None without error.
    """

    error: ErrorCode
    message: str | None = None


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignmentsResult(CommandResult):
    """The result for each partition, in the order of the request."""

    partitions: Mapping[TopicPartition, ReassignmentResult]


@dataclass(frozen=True, slots=True)
class AlterPartitionReassignments(Command[AlterPartitionReassignmentsResult]):
    """Move partitions to these replicas, preferred leader first; None cancels what runs."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]


@dataclass(frozen=True, slots=True)
class ListPartitionReassignmentsResult(CommandResult):
    """The assignment of each partition that is being reassigned."""

    reassignments: Mapping[TopicPartition, Assignment]


@dataclass(frozen=True, slots=True)
class ListPartitionReassignments(Command[ListPartitionReassignmentsResult]):
    """The reassignments that run: those of these partitions, or all where None."""

    partitions: tuple[TopicPartition, ...] | None = None
