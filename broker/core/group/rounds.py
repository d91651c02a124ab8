"""The join round: its beginning, its completion, and the removal of members in between.

Source: ``prepareRebalance``, ``onCompleteJoin``, ``removeMemberAndUpdateGroup`` of ``GroupCoordinator.scala``
2.8, and ``DelayedJoin.scala``.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.broker.core.group.effects import (
    Answer,
    ClearTimer,
    Effects,
    EmptyGroupWrite,
    Level,
    Log,
    PersistGroup,
    SetTimer,
    Source,
    TimerKey,
    TimerKind,
)
from barnabas.broker.core.group.group import Group, InitialDelay
from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.requests import NO_MEMBER_ID, Token
from barnabas.broker.core.group.results import JoinedMember, JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.settings import NEW_MEMBER_JOIN_TIMEOUT_MS
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode

MIN_RETRY_MS = 1000
"""The shortest wait for a round that nobody has joined, whatever rebalance timeout its members asked for."""


def scala_set(ids: Iterable[str]) -> str:
    """A set as Kafka's log lines show it."""
    return f"Set({', '.join(ids)})"


def scala_option(value: object) -> str:
    """An optional value as Kafka's log lines show it."""
    return "None" if value is None else f"Some({value})"


def session_timer(group: Group, member_id: str) -> TimerKey:
    """Return the timer of a member's session."""
    return TimerKey(TimerKind.SESSION, group.group_id, member_id)


def pending_timer(group: Group, member_id: str) -> TimerKey:
    """Return the timer of a member id that its client has not used yet."""
    return TimerKey(TimerKind.PENDING_MEMBER, group.group_id, member_id)


def join_timer(group: Group) -> TimerKey:
    """Return the timer of the join round."""
    return TimerKey(TimerKind.JOIN, group.group_id)


def sync_timer(group: Group) -> TimerKey:
    """Return the timer of the syncs of a generation."""
    return TimerKey(TimerKind.SYNC, group.group_id)


def stop_timers(group: Group, out: Effects) -> None:
    """Stop all timers of a group that dies."""
    out.extend(ClearTimer(session_timer(group, member_id)) for member_id in group.members)
    out.extend(ClearTimer(pending_timer(group, member_id)) for member_id in sorted(group.pending_members))
    out.append(ClearTimer(join_timer(group)))
    out.append(ClearTimer(sync_timer(group)))


def restart_session(group: Group, member: Member, out: Effects) -> None:
    """Start a member's session timer again.

    A client in its first join round may not know its member id and cannot send heartbeats; it gets
    `NEW_MEMBER_JOIN_TIMEOUT_MS` instead of its session timeout.
    """
    delay = NEW_MEMBER_JOIN_TIMEOUT_MS if member.is_new else member.session_timeout_ms
    out.append(SetTimer(session_timer(group, member.member_id), delay))


def park_join(group: Group, member: Member, token: Token, out: Effects) -> None:
    """Park a JoinGroup; one of the same member that waits already belongs to a broken connection."""
    before = group.park_join(member, token)
    if before is not None:
        out.append(Answer(before, JoinGroupResult(member.member_id, ErrorCode.REBALANCE_IN_PROGRESS)))


def answer_join(group: Group, member: Member, result: JoinGroupResult, out: Effects) -> None:
    """Answer the parked JoinGroup of a member, if there is one."""
    token = group.park_join(member, None)
    if token is not None:
        out.append(Answer(token, result))


def answer_sync(member: Member, result: SyncGroupResult, out: Effects) -> bool:
    """Answer the parked SyncGroup of a member; False if there is none."""
    token, member.sync_token = member.sync_token, None
    if token is None:
        return False
    out.append(Answer(token, result))
    return True


def current_result(group: Group, member: Member) -> JoinGroupResult:
    """Return the current generation as the answer to a member's JoinGroup; the leader gets all members."""
    assert group.protocol is not None
    assert group.leader is not None
    protocol = group.protocol
    members: tuple[JoinedMember, ...] = ()
    if group.leader == member.member_id:
        members = tuple(
            JoinedMember(each.member_id, each.instance_id, each.metadata(protocol))
            for each in group.members.values()
        )
    return JoinGroupResult(
        member.member_id,
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol=protocol,
        leader=group.leader,
        members=members,
    )


def drop_member(group: Group, member: Member, out: Effects) -> None:
    """Remove a member without changing the state; its parked requests are answered UNKNOWN_MEMBER_ID."""
    answer_join(group, member, JoinGroupResult(NO_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID), out)
    answer_sync(member, SyncGroupResult(ErrorCode.UNKNOWN_MEMBER_ID), out)
    out.append(ClearTimer(session_timer(group, member.member_id)))
    group.remove(member)


def remove_member(group: Group, member: Member, reason: str, now_ms: int, out: Effects) -> None:
    """Remove a member; the others rebalance, or the join round that runs may be complete."""
    drop_member(group, member, out)
    if group.state is GroupState.PREPARING_REBALANCE:
        complete_if_all_joined(group, now_ms, out)
    else:
        prepare_rebalance(group, reason, now_ms, out)


def prepare_rebalance(group: Group, reason: str, now_ms: int, out: Effects) -> None:
    """Begin a join round of a group that has members, or had some until now."""
    if group.state is GroupState.COMPLETING_REBALANCE:
        propagate_error(group, ErrorCode.REBALANCE_IN_PROGRESS, out)
    group.pending_sync.clear()
    out.append(ClearTimer(sync_timer(group)))
    _enter(group, reason, now_ms, out)
    if not complete_if_all_joined(group, now_ms, out):
        out.append(SetTimer(join_timer(group), max(0, group.rebalance_timeout_ms)))


def prepare_first_rebalance(group: Group, delay_ms: int, reason: str, now_ms: int, out: Effects) -> None:
    """Begin the join round of a group that was empty: it waits ``delay_ms`` for more members (KIP-134)."""
    group.initial_delay = InitialDelay(delay_ms, delay_ms, max(0, group.rebalance_timeout_ms - delay_ms))
    group.member_added = False
    _enter(group, reason, now_ms, out)
    out.append(SetTimer(join_timer(group), delay_ms))


def _enter(group: Group, reason: str, now_ms: int, out: Effects) -> None:
    group.transition_to(GroupState.PREPARING_REBALANCE, now_ms)
    text = (
        f"Preparing to rebalance group {group.group_id} in state {group.state} with old generation "
        f"{group.generation} (__consumer_offsets-{group.partition}) (reason: {reason})"
    )
    out.append(Log(Level.INFO, text))


def propagate_error(group: Group, error: ErrorCode, out: Effects) -> None:
    """Forget all assignments and answer the parked syncs with an error."""
    for member in group.members.values():
        member.assignment = b""
        if answer_sync(member, SyncGroupResult(error), out):
            restart_session(group, member, out)


def complete_if_all_joined(group: Group, now_ms: int, out: Effects) -> bool:
    """Complete the running join round if nobody is missing; an initial delay always runs to its end."""
    if group.initial_delay is not None or not group.all_joined:
        return False
    out.append(ClearTimer(join_timer(group)))
    complete_join(group, now_ms, out)
    return True


def join_time_is_up(group: Group, now_ms: int, out: Effects) -> None:
    """Complete the join round without the missing members, or extend its initial delay.

    The delay is extended by its own length if a member joined during it. All extensions together last at
    most as long as the first member's rebalance timeout.
    """
    initial = group.initial_delay
    if initial is not None and group.member_added and initial.remaining_ms:
        group.member_added = False
        delay = min(initial.configured_ms, initial.remaining_ms)
        remaining = max(initial.remaining_ms - initial.delay_ms, 0)
        group.initial_delay = InitialDelay(initial.configured_ms, delay, remaining)
        out.append(SetTimer(join_timer(group), delay))
        return
    group.initial_delay = None
    complete_join(group, now_ms, out)


def complete_join(group: Group, now_ms: int, out: Effects) -> None:
    """Begin the next generation with the members that joined, and static members that did not (KIP-345)."""
    _drop_absent(group, out)
    if group.members and not _elect_leader(group, out):
        text = f"Group {group.group_id} could not complete rebalance because no members rejoined"
        out.append(Log(Level.ERROR, text))
        out.append(SetTimer(join_timer(group), max(MIN_RETRY_MS, group.rebalance_timeout_ms)))
        return
    group.next_generation(now_ms)
    if group.state is GroupState.EMPTY:
        text = f"Group {group.group_id} with generation {group.generation} is now empty "
        out.append(Log(Level.INFO, f"{text}(__consumer_offsets-{group.partition})"))
        out.append(PersistGroup(EmptyGroupWrite(group), group.stored({})))
        return
    text = f"Stabilized group {group.group_id} generation {group.generation} "
    text += f"(__consumer_offsets-{group.partition}) with {len(group.members)} members"
    out.append(Log(Level.INFO, text))
    for member in group.members.values():
        answer_join(group, member, current_result(group, member), out)
        member.is_new = False
        restart_session(group, member, out)
    out.append(SetTimer(sync_timer(group), max(0, group.rebalance_timeout_ms)))


def _drop_absent(group: Group, out: Effects) -> None:
    absent = [each for each in group.members.values() if each.join_token is None and not each.is_static]
    if absent:
        ids = scala_set(member.member_id for member in absent)
        text = f"Group {group.group_id} removed dynamic members who haven't joined: {ids}"
        out.append(Log(Level.INFO, text))
    for member in absent:
        drop_member(group, member, out)


def _elect_leader(group: Group, out: Effects) -> bool:
    """Make the member that joined first the leader if the old leader did not join; False if nobody joined."""
    assert group.leader is not None
    leader = group.members[group.leader]
    if leader.join_token is not None:
        return True
    text = (
        f"Group leader [member.id: {leader.member_id}, group.instance.id: "
        f"{scala_option(leader.instance_id)}] failed to join before rebalance timeout, "
    )
    joined = next((member for member in group.members.values() if member.join_token is not None), None)
    if joined is None:
        text += "and the group couldn't proceed to next generation because no member joined."
    else:
        group.leader = joined.member_id
        text += f"while new leader {joined} was elected."
    out.append(Log(Level.INFO, text, Source.METADATA))
    return joined is not None
