"""Unloading the groups of a partition that another broker leads now (``onGroupUnloaded`` of 2.8)."""

from __future__ import annotations

from barnabas.broker.core.group.effects import ClearTimer, Effects, Level, Log
from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.groups import PartitionGroups
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.rounds import (
    answer_join,
    answer_sync,
    join_timer,
    pending_timer,
    session_timer,
    sync_timer,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def unload_groups(groups: PartitionGroups, now_ms: int) -> Effects:
    """Make all groups of a partition Dead here; parked requests are answered NOT_COORDINATOR."""
    out: Effects = []
    for group in groups.by_id.values():
        text = f"Unloading group metadata for {group.group_id} with generation {group.generation}"
        out.append(Log(Level.INFO, text))
        for member in group.members.values():
            join = JoinGroupResult(member.member_id, ErrorCode.NOT_COORDINATOR)
            answer_join(group, member, join, out)
            answer_sync(member, SyncGroupResult(ErrorCode.NOT_COORDINATOR), out)
        stop_timers(group, out)
        group.transition_to(GroupState.DEAD, now_ms)
    groups.by_id.clear()
    return out


def stop_timers(group: Group, out: Effects) -> None:
    """Stop all timers of a group that dies."""
    out.extend(ClearTimer(session_timer(group, member_id)) for member_id in group.members)
    out.extend(ClearTimer(pending_timer(group, member_id)) for member_id in sorted(group.pending_members))
    out.append(ClearTimer(join_timer(group)))
    out.append(ClearTimer(sync_timer(group)))
