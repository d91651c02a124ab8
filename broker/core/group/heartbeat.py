"""Heartbeat (``handleHeartbeat`` of ``GroupCoordinator.scala`` 2.8)."""

from __future__ import annotations

from barnabas.broker.core.group.checks import member_error
from barnabas.broker.core.group.effects import Effects
from barnabas.broker.core.group.groups import PartitionGroups
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
