"""The commands for partition reassignment (KIP-455; api keys 45 and 46), and their results.

Source: ``AlterPartitionReassignmentsRequest.json`` and ``ListPartitionReassignmentsRequest.json`` of release
2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.cluster.model.commands.command import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment


@dataclass(frozen=True, slots=True)
class ReassignmentResult:
    """The result for the reassignment of one partition.

    Attributes:
        error: ``NONE`` if the reassignment has begun, is complete, or is cancelled.
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
    """The command to move partitions to replicas, preferred leader first; None cancels a reassignment."""

    targets: Mapping[TopicPartition, tuple[BrokerId, ...] | None]


@dataclass(frozen=True, slots=True)
class ListPartitionReassignmentsResult(CommandResult):
    """The assignments of partitions that are being reassigned."""

    reassignments: Mapping[TopicPartition, Assignment]


@dataclass(frozen=True, slots=True)
class ListPartitionReassignments(Command[ListPartitionReassignmentsResult]):
    """The command to list the running reassignments of some partitions; None stands for all."""

    partitions: tuple[TopicPartition, ...] | None = None
