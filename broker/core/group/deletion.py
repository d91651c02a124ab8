"""DeleteGroups (KIP-229), OffsetDelete (KIP-496), and the removal of groups without offsets (KIP-211).

Source: ``handleDeleteGroups``, ``handleDeleteOffsets`` of ``GroupCoordinator.scala`` and
``cleanupGroupMetadata`` of ``GroupMetadataManager.scala`` 2.8. The caller removes the offsets.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.core.group.effects import Effects, GroupRemoved, Level, Log, Source
from barnabas.broker.core.group.group import Group, PartitionGroups
from barnabas.broker.core.group.requests import CONSUMER
from barnabas.broker.core.group.rounds import stop_timers
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def delete_group(groups: PartitionGroups, group_id: str, now_ms: int) -> tuple[ErrorCode, Effects]:
    """Delete a group without members."""
    out: Effects = []
    group = groups.by_id.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND, out
    if group.state is not GroupState.EMPTY:
        return ErrorCode.NON_EMPTY_GROUP, out
    _remove(groups, group, now_ms, out)
    return ErrorCode.NONE, out


def remove_empty_group(groups: PartitionGroups, group_id: str, now_ms: int) -> Effects:
    """Remove a group whose last offset is gone, provided that it has no members."""
    out: Effects = []
    group = groups.by_id[group_id]
    if group.state is GroupState.EMPTY:
        text = f"Group {group_id} transitioned to Dead in generation {group.generation}"
        out.append(Log(Level.INFO, text, Source.MANAGER))
        _remove(groups, group, now_ms, out)
    return out


def _remove(groups: PartitionGroups, group: Group, now_ms: int, out: Effects) -> None:
    stop_timers(group, out)
    group.transition_to(GroupState.DEAD, now_ms)
    del groups.by_id[group.group_id]
    out.append(GroupRemoved(group.group_id, group.generation))


def check_offset_delete(
    groups: PartitionGroups, group_id: str, topics: Iterable[str]
) -> tuple[ErrorCode, frozenset[str]]:
    """Judge an OffsetDelete.

    Returns:
        The error of the whole request; without one, those of ``topics`` to which the group is subscribed:
        their offsets stay (GROUP_SUBSCRIBED_TO_TOPIC). A consumer group whose subscription is unreadable
        counts as subscribed to all.
    """
    group = groups.by_id.get(group_id)
    if group is None:
        return ErrorCode.GROUP_ID_NOT_FOUND, frozenset()
    if group.state is GroupState.EMPTY:
        return ErrorCode.NONE, frozenset()
    if group.protocol_type != CONSUMER:
        return ErrorCode.NON_EMPTY_GROUP, frozenset()
    subscribed = group.subscribed_topics
    return ErrorCode.NONE, frozenset(topic for topic in topics if subscribed is None or topic in subscribed)
