"""The checks that every request of a member passes, in Kafka's order.

FENCED_INSTANCE_ID comes before UNKNOWN_MEMBER_ID, and that before ILLEGAL_GENERATION.
"""

from __future__ import annotations

from barnabas.broker.core.group.effects import Effects, Level, Log, Source
from barnabas.broker.core.group.group import Group
from barnabas.broker.core.group.requests import MemberCall, SyncGroup
from barnabas.cluster.model.errors import ErrorCode


def is_fenced(group: Group, member_id: str, instance_id: str | None, operation: str, out: Effects) -> bool:
    """Return whether another member id has this ``group.instance.id`` (KIP-345).

    An unknown instance id is not fenced. ``operation`` is Kafka's word for the request in its log line.
    """
    holder = group.static_member(instance_id)
    if holder is None or holder.member_id == member_id:
        return False
    text = (
        f"given member.id {member_id} is identified as a known static member {instance_id}, but not "
        f"matching the expected member.id {holder.member_id} during {operation}, will respond with instance "
        "fenced error"
    )
    out.append(Log(Level.ERROR, text, Source.METADATA))
    return True


def member_error(group: Group, call: MemberCall | SyncGroup, operation: str, out: Effects) -> ErrorCode:
    """Judge a request that a member of the current generation should have sent; NONE if one did."""
    if is_fenced(group, call.member_id, call.instance_id, operation, out):
        return ErrorCode.FENCED_INSTANCE_ID
    if call.member_id not in group.members:
        return ErrorCode.UNKNOWN_MEMBER_ID
    if call.generation != group.generation:
        return ErrorCode.ILLEGAL_GENERATION
    return ErrorCode.NONE
