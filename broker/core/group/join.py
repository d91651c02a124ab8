"""JoinGroup (KIP-394: member ids; KIP-389: ``group.max.size``).

Source: ``handleJoinGroup``, ``doUnknownJoinGroup``, ``doJoinGroup`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from typing import NamedTuple

from barnabas.broker.core.group.checks import is_fenced
from barnabas.broker.core.group.effects import Answer, ClearTimer, Effects, Level, Log, SetTimer
from barnabas.broker.core.group.group import Group, PartitionGroups
from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.replacement import replace_static_member
from barnabas.broker.core.group.requests import NO_MEMBER_ID, JoinGroup, Token
from barnabas.broker.core.group.results import JoinGroupResult
from barnabas.broker.core.group.rounds import (
    complete_if_all_joined,
    current_result,
    drop_member,
    park_join,
    pending_timer,
    prepare_first_rebalance,
    prepare_rebalance,
    restart_session,
    scala_option,
)
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


class _Join(NamedTuple):
    """A JoinGroup with what it takes to decide about it."""

    config: GroupSettings
    request: JoinGroup
    token: Token
    now_ms: int


def join_group(
    config: GroupSettings, groups: PartitionGroups, request: JoinGroup, token: Token, now_ms: int
) -> Effects:
    """Let a client join its group: its request is answered at once or parked until the round ends.

    A client without member id creates an unknown group.
    """
    out: Effects = []
    join = _Join(config, request, token, now_ms)
    error, member_id = ErrorCode.NONE, request.member_id
    group = groups.by_id.get(request.group_id)
    if not config.min_session_timeout_ms <= request.session_timeout_ms <= config.max_session_timeout_ms:
        error = ErrorCode.INVALID_SESSION_TIMEOUT
    elif group is None and member_id != NO_MEMBER_ID:
        error = ErrorCode.UNKNOWN_MEMBER_ID
    else:
        group = groups.get_or_create(request.group_id, now_ms)
        known = group.members.get(member_id)
        if not _has_room(config, group, known):
            error, member_id = ErrorCode.GROUP_MAX_SIZE_REACHED, NO_MEMBER_ID
            if known is not None:
                drop_member(group, known, out)
        elif not group.supports(request.protocol_type, (name for name, _ in request.protocols)):
            error = ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        elif member_id == NO_MEMBER_ID:
            _join_without_id(join, group, out)
        else:
            error = _join_with_id(join, group, out)
        if group.state is GroupState.PREPARING_REBALANCE:
            complete_if_all_joined(group, now_ms, out)
    if error is not ErrorCode.NONE:
        out.append(Answer(token, JoinGroupResult(member_id, error)))
    return out


def _has_room(config: GroupSettings, group: Group, member: Member | None) -> bool:
    """Return whether the group takes the client (``acceptJoiningMember``).

    In a join round those count who have joined it, so that a group that is too large loses its last ones.
    """
    if group.state is GroupState.EMPTY:
        return True
    if group.state is GroupState.PREPARING_REBALANCE:
        parked = member is not None and member.join_token is not None
        return parked or group.awaiting_join < config.max_size
    return member is not None or len(group.members) < config.max_size


def _join_without_id(join: _Join, group: Group, out: Effects) -> None:
    request = join.request
    member_id = request.new_member_id
    replaced = group.static_member(request.instance_id)
    if replaced is not None:
        replace_static_member(group, request, join.token, join.now_ms, out)
    elif request.require_known_member_id:
        text = (
            f"Dynamic member with unknown member id joins group {group.group_id} in {group.state} state. "
            f"Created a new member id {member_id} and request the member to rejoin with this id."
        )
        out.append(Log(Level.DEBUG, text))
        group.pending_members.add(member_id)
        out.append(SetTimer(pending_timer(group, member_id), request.session_timeout_ms))
        out.append(Answer(join.token, JoinGroupResult(member_id, ErrorCode.MEMBER_ID_REQUIRED)))
    else:
        kind = "Dynamic" if request.instance_id is None else "Static"
        text = (
            f"{kind} Member with unknown member id joins group {group.group_id} in {group.state} state. "
            f"Created a new member id {member_id} for this member and add to the group."
        )
        out.append(Log(Level.INFO, text))
        _add_member(join, group, member_id, out)


def _join_with_id(join: _Join, group: Group, out: Effects) -> ErrorCode:
    request = join.request
    member_id = request.member_id
    if member_id in group.pending_members:
        if request.instance_id is not None:
            # Kafka throws an IllegalStateException, because only dynamic members get such ids.
            return ErrorCode.UNKNOWN_SERVER_ERROR
        text = f"Dynamic Member with specific member id {member_id} joins group {group.group_id} in "
        out.append(Log(Level.DEBUG, f"{text}{group.state} state. Adding to the group now."))
        _add_member(join, group, member_id, out)
        return ErrorCode.NONE
    if is_fenced(group, member_id, request.instance_id, "join-group", out):
        return ErrorCode.FENCED_INSTANCE_ID
    member = group.members.get(member_id)
    if member is None or (
        request.instance_id is not None and group.static_member(request.instance_id) is None
    ):
        return ErrorCode.UNKNOWN_MEMBER_ID
    _rejoin(join, group, member, out)
    return ErrorCode.NONE


def _rejoin(join: _Join, group: Group, member: Member, out: Effects) -> None:
    """Handle the join of a known member: park it, answer with the current generation, or begin a rebalance.

    A leader that joins a stable group again wants a new assignment, for example because topics have changed.
    """
    unchanged = member.protocols == join.request.protocols
    leads = group.leader == member.member_id
    if group.state is GroupState.PREPARING_REBALANCE:
        group.set_protocols(member, join.request.protocols)
        park_join(group, member, join.token, out)
    elif unchanged and not (leads and group.state is GroupState.STABLE):
        # The answer to its last join may have been lost.
        out.append(Answer(join.token, current_result(group, member)))
    else:
        reason = f"Updating metadata for member {member.member_id} during {group.state}"
        if leads and group.state is GroupState.STABLE:
            reason = f"leader {member.member_id} re-joining group during {group.state}"
        group.set_protocols(member, join.request.protocols)
        park_join(group, member, join.token, out)
        prepare_rebalance(group, reason, join.now_ms, out)


def _add_member(join: _Join, group: Group, member_id: str, out: Effects) -> None:
    request = join.request
    member = Member(
        member_id,
        request.instance_id,
        request.client_id,
        request.client_host,
        request.rebalance_timeout_ms,
        request.session_timeout_ms,
        request.protocols,
        is_new=True,
    )
    if group.generation == 0:
        group.member_added = True
    group.add(member, request.protocol_type)
    park_join(group, member, join.token, out)
    restart_session(group, member, out)
    instance = scala_option(request.instance_id)
    if member.is_static:
        text = f"Adding new static member {instance} to group {group.group_id} with member id {member_id}."
        out.append(Log(Level.INFO, text))
    elif member_id in group.pending_members:
        group.pending_members.remove(member_id)
        out.append(ClearTimer(pending_timer(group, member_id)))
    reason = f"Adding new member {member_id} with group instance id {instance}"
    if group.state is GroupState.EMPTY:
        prepare_first_rebalance(group, join.config.initial_rebalance_delay_ms, reason, join.now_ms, out)
    elif group.state is not GroupState.PREPARING_REBALANCE:
        prepare_rebalance(group, reason, join.now_ms, out)
