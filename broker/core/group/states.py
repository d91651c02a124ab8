"""The states of a group and the table of its transitions (Kafka: ``GroupState`` in ``GroupMetadata.scala``).

A pair of states that the table does not hold is not allowed.
Source: ``validPreviousStates`` of Kafka 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, StrEnum, auto


class GroupState(StrEnum):
    """The state of a group; the values are the words that Kafka logs and answers in DescribeGroups."""

    EMPTY = "Empty"
    """The group has no members; its offsets stay until they expire."""
    PREPARING_REBALANCE = "PreparingRebalance"
    """The group is in a join round: joins are parked until all members have joined or the time is up."""
    COMPLETING_REBALANCE = "CompletingRebalance"
    """The generation is decided; syncs are parked until the leader's assignment is in the log."""
    STABLE = "Stable"
    """Every member of the generation has an assignment or can get it."""
    DEAD = "Dead"
    """Deleted, or no longer coordinated here. No request finds a dead group."""


class Transition(Enum):
    """The cause of a change of state."""

    REBALANCE = auto()
    """A member joins, leaves, fails or changes its metadata; or an assignment could not be stored."""
    COMPLETE_JOIN = auto()
    """The join round ends with at least one member."""
    COMPLETE_SYNC = auto()
    """The leader's assignment is in the log."""
    BECOME_EMPTY = auto()
    """The join round ends without members."""
    REMOVE = auto()
    """The group is deleted, or its last offset is gone."""
    UNLOAD = auto()
    """The broker no longer leads the group's partition of ``__consumer_offsets``."""


def _table() -> Mapping[tuple[GroupState, GroupState], Transition]:
    s, t = GroupState, Transition
    return {
        (s.EMPTY, s.PREPARING_REBALANCE): t.REBALANCE,
        (s.STABLE, s.PREPARING_REBALANCE): t.REBALANCE,
        (s.COMPLETING_REBALANCE, s.PREPARING_REBALANCE): t.REBALANCE,
        (s.PREPARING_REBALANCE, s.COMPLETING_REBALANCE): t.COMPLETE_JOIN,
        (s.COMPLETING_REBALANCE, s.STABLE): t.COMPLETE_SYNC,
        (s.PREPARING_REBALANCE, s.EMPTY): t.BECOME_EMPTY,
        (s.EMPTY, s.DEAD): t.REMOVE,
        (s.PREPARING_REBALANCE, s.DEAD): t.UNLOAD,
        (s.COMPLETING_REBALANCE, s.DEAD): t.UNLOAD,
        (s.STABLE, s.DEAD): t.UNLOAD,
    }


GROUP_TRANSITIONS = _table()
"""The cause of each transition, by old and new state.

Unloading an empty group is the transition that removes it.
"""
