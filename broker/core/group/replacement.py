"""The replacement of a static member that returns without its member id: it gets a new id (KIP-345).

Source: ``updateStaticMemberAndRebalance`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.effects import (
    ClearTimer,
    Effects,
    Level,
    Log,
    PersistGroup,
    StaticMemberWrite,
)
from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.requests import JoinGroup, Token
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.rounds import (
    answer_join,
    answer_sync,
    park_join,
    prepare_rebalance,
    restart_session,
    scala_option,
    session_timer,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


def replace_static_member(group: Group, request: JoinGroup, token: Token, now_ms: int, out: Effects) -> None:
    """Give a static member a new id and park its JoinGroup; requests of its old id are fenced.

    A stable group does not rebalance if the new protocols leave the group's protocol as it is: only the new
    member id is stored. A group whose leader is assigning rebalances, because the leader knows the old id.
    Timeouts and the client's address stay those of its first join.
    """
    member, leader = group.static_member(request.instance_id), group.leader
    assert member is not None
    assert leader is not None
    member_id, old_id, old_protocols = request.new_member_id, member.member_id, member.protocols
    instance = scala_option(member.instance_id)
    text = (
        f"Static member {instance} of group {group.group_id} with unknown member id rejoins, "
        f"assigning new member id {member_id}, while old member id {old_id} will be removed."
    )
    out.append(Log(Level.INFO, text))
    answer_join(group, member, JoinGroupResult(old_id, ErrorCode.FENCED_INSTANCE_ID), out)
    answer_sync(member, SyncGroupResult(ErrorCode.FENCED_INSTANCE_ID), out)
    out.append(ClearTimer(session_timer(group, old_id)))
    group.rename(member, member_id)
    restart_session(group, member, out)
    group.set_protocols(member, request.protocols)
    park_join(group, member, token, out)
    if group.state is GroupState.COMPLETING_REBALANCE:
        reason = f"Updating metadata for static member {member_id} with instance id {instance}"
        prepare_rebalance(group, reason, now_ms, out)
    elif group.state is GroupState.STABLE and group.select_protocol() == group.protocol:
        text = "Static member which joins during Stable stage and doesn't affect selectProtocol will not "
        out.append(Log(Level.INFO, f"{text}trigger rebalance."))
        record = group.stored({each.member_id: each.assignment for each in group.members.values()})
        out.append(PersistGroup(StaticMemberWrite(group, token, old_id, old_protocols, leader), record))
    elif group.state is GroupState.STABLE:
        reason = (
            f"Group's selectedProtocol will change because static member {member_id} with instance id "
            f"{instance} joined with change of protocol"
        )
        prepare_rebalance(group, reason, now_ms, out)
