"""DescribeGroups and ListGroups (KIP-518: by state).

Source: ``summary``, ``overview`` of ``GroupMetadata.scala`` 2.8.
"""

from __future__ import annotations

from collections.abc import Collection

from barnabas.broker.core.group.group import PartitionGroups
from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.results import GroupOverview, GroupSummary, MemberSummary
from barnabas.broker.core.group.states import GroupState


def describe_group(groups: PartitionGroups, group_id: str) -> GroupSummary:
    """Describe a group; an unknown one is dead, which is no error."""
    group = groups.by_id.get(group_id)
    if group is None:
        return GroupSummary(GroupState.DEAD)
    protocol = group.protocol if group.state is GroupState.STABLE else None
    members = tuple(_summary(member, protocol) for member in group.members.values())
    return GroupSummary(group.state, group.protocol_type or "", protocol or "", members)


def _summary(member: Member, protocol: str | None) -> MemberSummary:
    return MemberSummary(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        b"" if protocol is None else member.metadata(protocol),
        b"" if protocol is None else member.assignment,
    )


def list_groups(groups: PartitionGroups, states: Collection[str] = ()) -> list[GroupOverview]:
    """List the groups in one of ``states``, all if it is empty; names that are no state match nothing."""
    return [
        GroupOverview(group.group_id, group.protocol_type or "", group.state)
        for group in groups.by_id.values()
        if not states or group.state in states
    ]
