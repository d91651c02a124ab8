"""Loading a group from its record, and unloading the groups of a partition that another broker leads now.

Source: ``loadGroup`` of ``GroupMetadata.scala``, ``onGroupLoaded`` and ``onGroupUnloaded`` of Kafka 2.8.
"""

from __future__ import annotations

from barnabas.broker.core.group.effects import Effects, Level, Log, Source
from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.requests import GroupProtocol
from barnabas.broker.core.group.results import JoinGroupResult, SyncGroupResult
from barnabas.broker.core.group.rounds import (
    answer_join,
    answer_sync,
    prepare_rebalance,
    restart_session,
    stop_timers,
)
from barnabas.broker.core.group.settings import GroupSettings
from barnabas.broker.core.group.states import GroupState
from barnabas.broker.core.group.stored import StoredGroup
from barnabas.cluster.model.errors import ErrorCode


def load_group(
    config: GroupSettings, groups: PartitionGroups, group_id: str, stored: StoredGroup | None, now_ms: int
) -> Effects:
    """Add a group that is in the log: stable if its record has members, else empty.

    ``stored`` is None for a group of which only offsets were found. Each member gets a whole session; it is
    known to support the chosen protocol alone. A group that is larger than ``group.max.size`` rebalances.
    A record that names no leader or no protocol for its members, which Kafka never writes, gets the first
    member as its leader and the protocol "".
    """
    out: Effects = []
    group = groups.get_or_create(group_id, now_ms)
    if stored is not None:
        group.state_timestamp_ms = stored.state_timestamp_ms
        group.protocol_type = stored.protocol_type or None
        group.generation = stored.generation
        if stored.members:
            group.state = GroupState.STABLE
            group.protocol = stored.protocol or ""
        # If a record names a member twice, the last one counts.
        for each in {each.member_id: each for each in stored.members}.values():
            member = Member(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                each.rebalance_timeout_ms,
                each.session_timeout_ms,
                (GroupProtocol(group.protocol or "", each.subscription),),
                each.assignment,
            )
            group.add(member, stored.protocol_type)
            text = f"Loaded member {member} in group {group_id} with generation {group.generation}."
            out.append(Log(Level.INFO, text, Source.METADATA))
        if stored.leader in group.members:
            group.leader = stored.leader
        group.keep_subscriptions()
    text = f"Loading group metadata for {group_id} with generation {group.generation}"
    out.append(Log(Level.INFO, text))
    if len(group.members) > config.max_size:
        reason = (
            f"Freshly-loaded group is over capacity ({config.max_size}). Rebalacing in order to give a "
            "chance for consumers to commit offsets"
        )
        prepare_rebalance(group, reason, now_ms, out)
    for member in group.members.values():
        restart_session(group, member, out)
    return out


def unload_groups(groups: PartitionGroups, now_ms: int) -> Effects:
    """Make all groups of a partition Dead here; parked requests are answered NOT_COORDINATOR."""
    out: Effects = []
    for group in groups.by_id.values():
        text = f"Unloading group metadata for {group.group_id} with generation {group.generation}"
        out.append(Log(Level.INFO, text))
        for member in group.members.values():
            join = JoinGroupResult(member.member_id, ErrorCode.NOT_COORDINATOR)
            answer_join(group, member, join, out)
            answer_sync(member, SyncGroupResult(ErrorCode.NOT_COORDINATOR), out)
        stop_timers(group, out)
        group.transition_to(GroupState.DEAD, now_ms)
    groups.by_id.clear()
    return out
