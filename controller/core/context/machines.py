"""The tables of both state machines (Kafka: ``PartitionStateMachine``, ``ReplicaStateMachine``).

A table holds, for a state and a target, the action that takes a partition or replica there; a pair that it
does not hold is not allowed. `partitions.partition_state_machine` and `replicas.replica_state_machine` carry
the actions out. Source: docs/kafka/state-machines.md, Partitions and Replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import TypeVar


class PartitionMachineState(StrEnum):
    """The state of a partition; the values are the words that Kafka logs."""

    NEW = "NewPartition"
    """Assigned, and without a leadership in ZooKeeper."""
    ONLINE = "OnlinePartition"
    """Led by a live replica."""
    OFFLINE = "OfflinePartition"
    """Without a live leader."""
    NON_EXISTENT = "NonExistentPartition"
    """Never seen, or deleted."""


class PartitionAction(Enum):
    """The actions that entering a state takes."""

    NOTE = auto()
    """Only record the state."""
    INITIALIZE = auto()
    """Write the first leadership: leader, ISR, leader epoch 0."""
    ELECT = auto()
    """Run a leader election."""


class ReplicaMachineState(StrEnum):
    """The state of a replica; the values are the words that Kafka logs."""

    NEW = "NewReplica"
    """Assigned, and not yet created on its broker."""
    ONLINE = "OnlineReplica"
    """Leader or follower on a live broker."""
    OFFLINE = "OfflineReplica"
    """Stopped, or on a broker that is gone."""
    DELETION_STARTED = "ReplicaDeletionStarted"
    """The request to delete it was sent to its broker."""
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    """Its broker has deleted it."""
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """Cannot be deleted now."""
    NON_EXISTENT = "NonExistentReplica"
    """Never seen, or deleted and forgotten."""


class ReplicaAction(Enum):
    """The actions that entering a state takes."""

    NOTE = auto()
    """Only record the state."""
    CREATE = auto()
    """Send its broker LeaderAndIsr with ``isNew``, once the partition has a leadership."""
    JOIN = auto()
    """Make sure that the assignment contains it; no request."""
    RESUME = auto()
    """Send its broker LeaderAndIsr, if the partition has a leadership."""
    STOP = auto()
    """Send its broker StopReplica, remove it from the ISR, and send the new ISR to the others."""
    DELETE = auto()
    """Send its broker StopReplica with the flag to delete."""
    FORGET = auto()
    """Remove it from the assignment and from the context."""


def _partition_table() -> Mapping[tuple[PartitionMachineState, PartitionMachineState], PartitionAction]:
    s, a = PartitionMachineState, PartitionAction
    return {
        (s.NON_EXISTENT, s.NEW): a.NOTE,
        (s.NEW, s.ONLINE): a.INITIALIZE,
        (s.ONLINE, s.ONLINE): a.ELECT,
        (s.OFFLINE, s.ONLINE): a.ELECT,
        (s.NEW, s.OFFLINE): a.NOTE,
        (s.ONLINE, s.OFFLINE): a.NOTE,
        (s.OFFLINE, s.OFFLINE): a.NOTE,
        (s.OFFLINE, s.NON_EXISTENT): a.NOTE,
    }


def _replica_table() -> Mapping[tuple[ReplicaMachineState, ReplicaMachineState], ReplicaAction]:
    s, a = ReplicaMachineState, ReplicaAction
    return {
        (s.NON_EXISTENT, s.NEW): a.CREATE,
        (s.NEW, s.ONLINE): a.JOIN,
        (s.ONLINE, s.ONLINE): a.RESUME,
        (s.OFFLINE, s.ONLINE): a.RESUME,
        (s.DELETION_INELIGIBLE, s.ONLINE): a.RESUME,
        (s.NEW, s.OFFLINE): a.STOP,
        (s.ONLINE, s.OFFLINE): a.STOP,
        (s.OFFLINE, s.OFFLINE): a.STOP,
        (s.DELETION_INELIGIBLE, s.OFFLINE): a.STOP,
        (s.OFFLINE, s.DELETION_STARTED): a.DELETE,
        (s.DELETION_STARTED, s.DELETION_SUCCESSFUL): a.NOTE,
        (s.OFFLINE, s.DELETION_INELIGIBLE): a.NOTE,
        (s.DELETION_STARTED, s.DELETION_INELIGIBLE): a.NOTE,
        (s.DELETION_SUCCESSFUL, s.NON_EXISTENT): a.FORGET,
    }


PARTITION_TRANSITIONS = _partition_table()
"""From and to: what is to be done."""

REPLICA_TRANSITIONS = _replica_table()
"""From and to: what is to be done."""

StateT = TypeVar("StateT", PartitionMachineState, ReplicaMachineState)


def valid_previous(table: Mapping[tuple[StateT, StateT], object], target: StateT) -> tuple[StateT, ...]:
    """Return the states of ``table`` from which ``target`` may be entered, in the order of the table."""
    return tuple(source for source, reached in table if reached == target)
