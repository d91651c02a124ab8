"""The checks of OffsetCommit and TxnOffsetCommit that need the group (KIP-447: members in transactions).

Source: ``doCommitOffsets`` and ``doTxnCommitOffsets`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.checks import is_fenced, member_error
from barnabas.broker.core.group.effects import Effects
from barnabas.broker.core.group.groups import PartitionGroups
from barnabas.broker.core.group.requests import NO_MEMBER_ID, MemberCall
from barnabas.broker.core.group.rounds import restart_session
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode


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


def check_txn_offset_commit(
    groups: PartitionGroups, call: MemberCall, now_ms: int
) -> tuple[ErrorCode, Effects]:
    """Judge a commit in a transaction: member and generation are checked only if it names them."""
    out: Effects = []
    group = groups.get_or_create(call.group_id, now_ms)
    if is_fenced(group, call.member_id, call.instance_id, "txn-commit-offsets", out):
        return ErrorCode.FENCED_INSTANCE_ID, out
    if call.member_id != NO_MEMBER_ID and call.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID, out
    if call.generation >= 0 and call.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION, out
    return ErrorCode.NONE, out
