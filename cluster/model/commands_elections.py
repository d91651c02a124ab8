"""The command that elects leaders on request, and what its caller is told.

Source: ``ElectLeaders`` (KIP-183, KIP-460) of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique

from barnabas.cluster.model.commands import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition


@unique
class ElectionType(IntEnum):
    """Which leader is asked for, by its number on the wire; the names are those that Kafka prints."""

    PREFERRED = 0
    """The first replica of the assignment."""
    UNCLEAN = 1
    """Any live replica, from outside the ISR if need be: records may be lost."""
    DAMAGED_LEADER = 100
    """Another ISR member than the leader, which asks because its log is damaged; no client may."""


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """What became of one partition.

    Attributes:
        error: ``NONE`` where ``leader`` was elected and written.
        message: A sentence for people; None where the error says all.
        leader: The new leader; ``NO_LEADER`` on error.
    """

    error: ErrorCode
    message: str | None = None
    leader: BrokerId = NO_LEADER


@dataclass(frozen=True, slots=True)
class ElectLeadersResult(CommandResult):
    """The result of each partition asked for."""

    elections: Mapping[TopicPartition, ElectionResult]


@dataclass(frozen=True, slots=True)
class ElectLeaders(Command[ElectLeadersResult]):
    """Elect leaders of these partitions, where another one than the right one leads.

    Attributes:
        election_type: Which leader is the right one.
        partitions: The partitions.
        damaged: The broker that must not go on leading (``DAMAGED_LEADER``); else ``NO_LEADER``.
    """

    election_type: ElectionType
    partitions: tuple[TopicPartition, ...]
    damaged: BrokerId = NO_LEADER
