"""The command that elects leaders on request, and its result.

Source: ``ElectLeaders`` (KIP-183, KIP-460) of release 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum, unique

from barnabas.cluster.model.commands.command import Command, CommandResult
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition


@unique
class ElectionType(IntEnum):
    """The types of election, with their numbers in the protocol and Kafka's names."""

    PREFERRED = 0
    """The preferred leader, which is the first replica of the assignment."""
    UNCLEAN = 1
    """Any live replica, if necessary from outside the ISR, in which case records may be lost."""
    DAMAGED_LEADER = 100
    """An ISR member other than the leader, which requests this because its log is damaged.

    Clients may not.
    """


@dataclass(frozen=True, slots=True)
class ElectionResult:
    """The result for one partition.

    Attributes:
        error: ``NONE`` if ``leader`` was elected and written.
        message: A sentence for people; None if the error needs none.
        leader: The new leader; ``NO_LEADER`` on error.
    """

    error: ErrorCode
    message: str | None = None
    leader: BrokerId = NO_LEADER


@dataclass(frozen=True, slots=True)
class ElectLeadersResult(CommandResult):
    """The results for the requested partitions."""

    elections: Mapping[TopicPartition, ElectionResult]


@dataclass(frozen=True, slots=True)
class ElectLeaders(Command[ElectLeadersResult]):
    """The command to elect the wanted leaders of partitions that are led by others.

    Attributes:
        election_type: The type of election, which determines the wanted leader.
        partitions: The partitions.
        damaged: The broker that must stop leading (``DAMAGED_LEADER``); else ``NO_LEADER``.
    """

    election_type: ElectionType
    partitions: tuple[TopicPartition, ...]
    damaged: BrokerId = NO_LEADER
