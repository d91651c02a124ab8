"""The answers to group requests, before a handler writes them in the request's version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from barnabas.broker.core.group.requests import LeavingMember
from barnabas.broker.core.group.states import GroupState
from barnabas.cluster.model.errors import ErrorCode

NO_GENERATION = -1
"""The generation in an error answer to JoinGroup."""


class JoinedMember(NamedTuple):
    """A member as the leader sees it, with its metadata for the chosen protocol."""

    member_id: str
    instance_id: str | None
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroupResult:
    """The answer to JoinGroup.

    Attributes:
        member_id: The client's member id: new, the one of the request, or "" if it must start over.
        error: Where it is not NONE, only ``member_id`` counts.
        generation: The generation that begins, or the current one.
        protocol_type: The group's protocol type; None in an error answer.
        protocol: The chosen protocol; None in an error answer (the wire has "" before version 7).
        leader: The member that assigns.
        members: All members, for the leader alone.
    """

    member_id: str
    error: ErrorCode = ErrorCode.NONE
    generation: int = NO_GENERATION
    protocol_type: str | None = None
    protocol: str | None = None
    leader: str = ""
    members: tuple[JoinedMember, ...] = ()


@dataclass(frozen=True, slots=True)
class SyncGroupResult:
    """The answer to SyncGroup; the protocol is None in an error answer."""

    error: ErrorCode = ErrorCode.NONE
    protocol_type: str | None = None
    protocol: str | None = None
    assignment: bytes = b""


class LeftMember(NamedTuple):
    """The answer of LeaveGroup for one member."""

    member: LeavingMember
    error: ErrorCode


@dataclass(frozen=True, slots=True)
class MemberSummary:
    """A member in the answer to DescribeGroups; metadata and assignment are those of a stable group."""

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    metadata: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """A group in the answer to DescribeGroups; ``protocol`` is "" unless the group is stable."""

    state: GroupState
    protocol_type: str = ""
    protocol: str = ""
    members: tuple[MemberSummary, ...] = ()


class GroupOverview(NamedTuple):
    """A group in the answer to ListGroups."""

    group_id: str
    protocol_type: str
    state: GroupState
