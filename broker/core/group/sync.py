"""SyncGroup (KIP-559: protocol type and name).

Source: ``doSyncGroup`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.checks import member_error
from barnabas.broker.core.group.effects import (
    Answer,
    AssignmentWrite,
    ClearTimer,
    Effects,
    Level,
    Log,
    PersistGroup,
)
from barnabas.broker.core.group.group import Group, PartitionGroups
from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.requests import SyncGroup, Token
from barnabas.broker.core.group.results import SyncGroupResult
from barnabas.broker.core.group.rounds import answer_sync, restart_session, scala_set, sync_timer
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def sync_group(groups: PartitionGroups, request: SyncGroup, token: Token) -> Effects:
    """Give a member its assignment, or park its request until the leader's assignment is in the log.

    A generation has one assignment. If a leader syncs again before the first assignment is in the log, Kafka
    writes the second one as well, and a coordinator that loads the log later knows another assignment than
    the members got.
    """
    out: Effects = []
    group = groups.by_id.get(request.group_id)
    error = ErrorCode.UNKNOWN_MEMBER_ID if group is None else _error(group, request, out)
    if group is None or error is not ErrorCode.NONE:
        out.append(Answer(token, SyncGroupResult(error)))
        return out
    member = group.members[request.member_id]
    _has_synced(group, member, out)
    if group.state is GroupState.STABLE:
        result = SyncGroupResult(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment)
        out.append(Answer(token, result))
        restart_session(group, member, out)
        return out
    # A request of the same member that waits already belongs to a broken connection.
    answer_sync(member, SyncGroupResult(ErrorCode.REBALANCE_IN_PROGRESS), out)
    member.sync_token = token
    if group.leader == member.member_id and group.assigned_generation != group.generation:
        group.assigned_generation = group.generation
        _store_assignment(group, request, out)
    return out


def _error(group: Group, request: SyncGroup, out: Effects) -> ErrorCode:
    error = member_error(group, request, "sync-group", out)
    if error is not ErrorCode.NONE:
        return error
    if request.protocol_type not in {None, group.protocol_type} or request.protocol not in {
        None,
        group.protocol,
    }:
        return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    if group.state is GroupState.PREPARING_REBALANCE:
        return ErrorCode.REBALANCE_IN_PROGRESS
    return ErrorCode.NONE


def _has_synced(group: Group, member: Member, out: Effects) -> None:
    if member.member_id in group.pending_sync:
        group.pending_sync.remove(member.member_id)
        if not group.pending_sync:
            out.append(ClearTimer(sync_timer(group)))


def _store_assignment(group: Group, request: SyncGroup, out: Effects) -> None:
    """Write the leader's assignment; members that it left out get an empty one, unknown ones are ignored."""
    text = (
        f"Assignment received from leader for group {group.group_id} for generation {group.generation}. "
        f"The group has {len(group.members)} members, {len(group.static_members)} of which are static."
    )
    out.append(Log(Level.INFO, text))
    missing = [member_id for member_id in group.members if member_id not in request.assignments]
    if missing:
        text = (
            f"Setting empty assignments for members {scala_set(missing)} of {group.group_id} for generation "
        )
        out.append(Log(Level.WARN, f"{text}{group.generation}"))
    assignments = {member_id: request.assignments.get(member_id, b"") for member_id in group.members}
    write = AssignmentWrite(group, group.generation, request.member_id, assignments)
    out.append(PersistGroup(write, group.stored(assignments)))
