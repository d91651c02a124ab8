"""The end of a group's timers: sessions, unused member ids, join rounds, syncs.

Source: ``onExpireHeartbeat`` and ``onExpirePendingSync`` of ``GroupCoordinator.scala`` 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.effects import Effects, Level, Log, TimerKey, TimerKind
from barnabas.broker.core.group.group import Group, PartitionGroups
from barnabas.broker.core.group.leave import forget_pending
from barnabas.broker.core.group.rounds import (
    drop_member,
    join_time_is_up,
    prepare_rebalance,
    remove_member,
    scala_set,
)


def timer_expired(groups: PartitionGroups, key: TimerKey, now_ms: int) -> Effects:
    """Handle the end of a timer that `SetTimer` started and no `ClearTimer` stopped."""
    out: Effects = []
    group = groups.by_id[key.group_id]
    match key.kind:
        case TimerKind.SESSION:
            _session_expired(group, key.member_id, now_ms, out)
        case TimerKind.PENDING_MEMBER:
            text = f"Pending member {key.member_id} in group {group.group_id} has been removed after session "
            out.append(Log(Level.INFO, f"{text}timeout expiration."))
            forget_pending(group, key.member_id, now_ms, out)
        case TimerKind.JOIN:
            join_time_is_up(group, now_ms, out)
        case _:
            _sync_expired(group, now_ms, out)
    return out


def _session_expired(group: Group, member_id: str, now_ms: int, out: Effects) -> None:
    """Remove a silent member, unless it has a parked request.

    A member with a parked request is alive, and the answer starts a new timer. In a member's first round,
    it is unknown whether its client is still there, so the client has to try again.
    """
    member = group.members[member_id]
    if member.is_new or not member.is_parked:
        text = f"Member {member_id} in group {group.group_id} has failed, removing it from the group"
        out.append(Log(Level.INFO, text))
        remove_member(group, member, f"removing member {member_id} on heartbeat expiration", now_ms, out)


def _sync_expired(group: Group, now_ms: int, out: Effects) -> None:
    """Remove the members that sent no SyncGroup in time, static ones too."""
    missing = [member for member_id, member in group.members.items() if member_id in group.pending_sync]
    ids = scala_set(member.member_id for member in missing)
    for member in missing:
        drop_member(group, member, out)
    text = f"Group {group.group_id} removed members who haven't sent their sync request: {ids}"
    out.append(Log(Level.DEBUG, text))
    prepare_rebalance(group, f"Removing {ids} on pending sync request expiration", now_ms, out)
