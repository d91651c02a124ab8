"""The end of a write of a group's record: syncs are answered, or the members rebalance.

Source: the callbacks of ``storeGroup`` in ``GroupCoordinator.scala`` and ``GroupMetadataManager.scala`` 2.8.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from barnabas.broker.core.group.effects import (
    AssignmentWrite,
    ClearTimer,
    Effects,
    GroupWrite,
    Level,
    Log,
    Source,
    StaticMemberWrite,
)
from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.requests import NO_MEMBER_ID
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.rounds import (
    answer_join,
    answer_sync,
    prepare_rebalance,
    propagate_error,
    restart_session,
    session_timer,
)
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode

MOST_IDLE_LINES = 10
"""The most members without partitions that have a line each; Kafka writes one for every member."""

_ANSWERS: Mapping[ErrorCode, ErrorCode] = MappingProxyType(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER: ErrorCode.NOT_COORDINATOR,
        ErrorCode.KAFKA_STORAGE_ERROR: ErrorCode.NOT_COORDINATOR,
        ErrorCode.REQUEST_TIMED_OUT: ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.MESSAGE_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.RECORD_LIST_TOO_LARGE: ErrorCode.UNKNOWN_SERVER_ERROR,
        ErrorCode.INVALID_FETCH_SIZE: ErrorCode.UNKNOWN_SERVER_ERROR,
    }
)
"""The answer to a group's members for an error of the append; other errors are answered as they are."""


def group_written(write: GroupWrite, append_error: ErrorCode, now_ms: int) -> Effects:
    """Handle the result of the write of `PersistGroup`; ``append_error`` is NONE if it succeeded.

    Nothing changes if the group has begun another join round meanwhile, which writes its own record.
    """
    out: Effects = []
    group = write.group
    error = _ANSWERS.get(append_error, append_error)
    if append_error is not ErrorCode.NONE:
        _log_failure(group, append_error, error, out)
    if isinstance(write, AssignmentWrite):
        if group.state is GroupState.COMPLETING_REBALANCE and group.generation == write.generation:
            _assignment_written(group, write, error, now_ms, out)
    elif isinstance(write, StaticMemberWrite):
        _static_member_written(group, write, error, out)
    elif error is not ErrorCode.NONE:
        text = f"Failed to write empty metadata for group {group.group_id}: {error.meaning}"
        out.append(Log(Level.WARN, text))
    return out


def _log_failure(group: Group, append_error: ErrorCode, error: ErrorCode, out: Effects) -> None:
    level, name = Level.ERROR, append_error.name
    text = f"Appending metadata message for group {group.group_id} generation {group.generation} failed "
    if error is ErrorCode.UNKNOWN_SERVER_ERROR:
        text += f"due to {name}, returning UNKNOWN error code to the client"
    elif append_error not in _ANSWERS:
        text += f"due to unexpected error: {name}"
    else:
        level = Level.DEBUG
        text = f"Metadata from group {group.group_id} with generation {group.generation} failed when "
        text += f"appending to log due to {name}"
    out.append(Log(level, text, Source.MANAGER))


def _assignment_written(
    group: Group, write: AssignmentWrite, error: ErrorCode, now_ms: int, out: Effects
) -> None:
    if error is not ErrorCode.NONE:
        propagate_error(group, error, out)
        reason = f"error when storing group assignment during SyncGroup (member: {write.member_id})"
        prepare_rebalance(group, reason, now_ms, out)
        return
    idle = [member_id for member_id in group.members if not write.assignments[member_id]]
    for member_id in idle[:MOST_IDLE_LINES]:
        text = f"Sending empty assignment to member {member_id} of {group.group_id} for generation "
        out.append(Log(Level.WARN, f"{text}{group.generation} with no errors"))
    if len(idle) > MOST_IDLE_LINES:
        others = len(idle) - MOST_IDLE_LINES
        text = f"Sending empty assignments to {others} other members of {group.group_id} for generation "
        out.append(Log(Level.WARN, f"{text}{group.generation} with no errors"))
    for member in group.members.values():
        member.assignment = write.assignments[member.member_id]
        result = SyncGroupResult(ErrorCode.NONE, group.protocol_type, group.protocol, member.assignment)
        if answer_sync(member, result, out):
            # The timer may have ended while the request was parked.
            restart_session(group, member, out)
    group.transition_to(GroupState.STABLE, now_ms)


def _static_member_written(group: Group, write: StaticMemberWrite, error: ErrorCode, out: Effects) -> None:
    """Answer the replaced member's join; after an error the member gets its old id and protocols back.

    If the group has begun a join round, the request is parked in it and the round answers it.
    """
    if error is not ErrorCode.NONE:
        text = f"Failed to persist metadata for group {group.group_id}: {error.meaning}"
        out.append(Log(Level.WARN, text))
    waiting = (member for member in group.members.values() if member.join_token == write.token)
    member = next(waiting, None)
    if group.state is not GroupState.STABLE or member is None:
        return
    if error is not ErrorCode.NONE:
        out.append(ClearTimer(session_timer(group, member.member_id)))
        group.rename(member, write.old_member_id)
        group.set_protocols(member, write.old_protocols)
    result = JoinGroupResult(
        NO_MEMBER_ID if error is not ErrorCode.NONE else member.member_id,
        error,
        group.generation,
        group.protocol_type,
        group.protocol,
        write.leader,
    )
    answer_join(group, member, result, out)
    restart_session(group, member, out)
