"""The tables of both state machines (Kafka: ``PartitionStateMachine``, ``ReplicaStateMachine``).

A table holds, for a state and a target, the action that takes a partition or replica there; a pair that it
does not hold is not allowed. `partitions.partition_state_machine` and `replicas.replica_state_machine` carry
the actions out.
Source: docs/kafka/state-machines.md, Partitions and Replicas.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto
from typing import TypeVar


class PartitionMachineState(StrEnum):
    """The state of a partition; the values are the words that Kafka logs."""

    NEW = "NewPartition"
    """The partition has an assignment, and no leadership in ZooKeeper yet."""
    ONLINE = "OnlinePartition"
    """A live replica leads the partition."""
    OFFLINE = "OfflinePartition"
    """The partition had a leader, and has no live one now."""
    NON_EXISTENT = "NonExistentPartition"
    """The partition was never seen, or was deleted."""


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
    """The replica has been assigned, and not yet created on its broker."""
    ONLINE = "OnlineReplica"
    """The replica is leader or follower on a live broker."""
    OFFLINE = "OfflineReplica"
    """The replica was stopped, or its broker is gone."""
    DELETION_STARTED = "ReplicaDeletionStarted"
    """The broker was sent the request to delete the replica."""
    DELETION_SUCCESSFUL = "ReplicaDeletionSuccessful"
    """The broker has deleted the replica."""
    DELETION_INELIGIBLE = "ReplicaDeletionIneligible"
    """The replica cannot be deleted now."""
    NON_EXISTENT = "NonExistentReplica"
    """The replica was never seen, or was deleted and forgotten."""


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
"""The action of each partition transition, by old and new state."""

REPLICA_TRANSITIONS = _replica_table()
"""The action of each replica transition, by old and new state."""

StateT = TypeVar("StateT", PartitionMachineState, ReplicaMachineState)


def valid_previous(table: Mapping[tuple[StateT, StateT], object], target: StateT) -> tuple[StateT, ...]:
    """Return the states of ``table`` from which ``target`` may be entered, in the order of the table."""
    return tuple(source for source, reached in table if reached == target)
