"""The requests with which members show that they are alive: Heartbeat and OffsetCommit.

Source: ``handleHeartbeat`` and ``doCommitOffsets`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.checks import member_error
from barnabas.broker.core.group.effects import Effects
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.requests import MemberCall
from barnabas.broker.core.group.rounds import restart_session
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def heartbeat(groups: PartitionGroups, call: MemberCall) -> tuple[ErrorCode, Effects]:
    """Restart a member's session; REBALANCE_IN_PROGRESS makes it join again."""
    out: Effects = []
    group = groups.by_id.get(call.group_id)
    if group is None:
        return ErrorCode.UNKNOWN_MEMBER_ID, out
    error = member_error(group, call, "heartbeat", out)
    if error is ErrorCode.NONE:
        restart_session(group, group.members[call.member_id], out)
        if group.state is GroupState.PREPARING_REBALANCE:
            error = ErrorCode.REBALANCE_IN_PROGRESS
    return error, out


def check_offset_commit(groups: PartitionGroups, call: MemberCall, now_ms: int) -> tuple[ErrorCode, Effects]:
    """Judge a commit: NONE if its offsets may be stored.

    A commit without generation creates an unknown group and may go on in an empty one; a commit of a member
    restarts its session. It is refused while the leader assigns, because the member may have lost the
    partitions.
    """
    out: Effects = []
    group = groups.by_id.get(call.group_id)
    if group is None:
        if call.generation >= 0:
            return ErrorCode.ILLEGAL_GENERATION, out
        group = groups.get_or_create(call.group_id, now_ms)
    if call.generation < 0 and group.state is GroupState.EMPTY:
        return ErrorCode.NONE, out
    error = member_error(group, call, "commit-offsets", out)
    if error is ErrorCode.NONE:
        if group.state is GroupState.COMPLETING_REBALANCE:
            return ErrorCode.REBALANCE_IN_PROGRESS, out
        restart_session(group, group.members[call.member_id], out)
    return error, out
