"""LeaveGroup (KIP-345: several members, static ones by ``group.instance.id`` alone).

Source: ``handleLeaveGroup`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.core.group.checks import is_fenced
from barnabas.broker.core.group.effects import ClearTimer, Effects, Level, Log
from barnabas.broker.core.group.group import Group, PartitionGroups
from barnabas.broker.core.group.requests import NO_MEMBER_ID, LeavingMember
from barnabas.broker.core.group.results import LeftMember
from barnabas.broker.core.group.rounds import (
    complete_if_all_joined,
    pending_timer,
    remove_member,
    scala_option,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def leave_group(
    groups: PartitionGroups, group_id: str, members: Iterable[LeavingMember], now_ms: int
) -> tuple[list[LeftMember], Effects]:
    """Remove members from a group, each judged by itself, in the order of the request."""
    out: Effects = []
    group = groups.by_id.get(group_id)
    if group is None:
        return [LeftMember(member, ErrorCode.UNKNOWN_MEMBER_ID) for member in members], out
    return [LeftMember(member, _leave(group, member, now_ms, out)) for member in members], out


def _leave(group: Group, leaving: LeavingMember, now_ms: int, out: Effects) -> ErrorCode:
    member_id, instance_id = leaving
    if member_id != NO_MEMBER_ID and is_fenced(group, member_id, instance_id, "leave-group", out):
        return ErrorCode.FENCED_INSTANCE_ID
    if member_id in group.pending_members:
        if instance_id is not None:
            # Kafka throws an IllegalStateException, because only dynamic members get such ids.
            return ErrorCode.UNKNOWN_SERVER_ERROR
        text = f"Pending member {member_id} is leaving group {group.group_id}."
        out.append(Log(Level.INFO, text))
        out.append(ClearTimer(pending_timer(group, member_id)))
        forget_pending(group, member_id, now_ms, out)
        return ErrorCode.NONE
    member = group.static_member(instance_id) or group.members.get(member_id)
    if member is None:
        return ErrorCode.UNKNOWN_MEMBER_ID
    text = (
        f"Member[group.instance.id {scala_option(member.instance_id)}, member.id {member.member_id}] "
        f"in group {group.group_id} has left, removing it from the group"
    )
    out.append(Log(Level.INFO, text))
    remove_member(group, member, f"removing member {member_id} on LeaveGroup", now_ms, out)
    return ErrorCode.NONE


def forget_pending(group: Group, member_id: str, now_ms: int, out: Effects) -> None:
    """Forget an unused member id; a join round that waits for it alone is complete."""
    group.pending_members.remove(member_id)
    if group.state is GroupState.PREPARING_REBALANCE:
        complete_if_all_joined(group, now_ms, out)
