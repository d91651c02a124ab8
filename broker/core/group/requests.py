"""The group requests that need the state of a group, as the handlers read them from the wire.

Authorization and the state of the coordinator are judged before: a request that comes here belongs to a
partition of ``__consumer_offsets`` that this broker leads and has loaded.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, NewType

Token = NewType("Token", int)
"""A parked request. The caller chooses it, unique among its requests; exactly one `Answer` names it."""

CONSUMER = "consumer"
"""The protocol type of consumers, the only one whose subscriptions the coordinator reads."""

NO_MEMBER_ID = ""
"""The member id of a client that has none yet (``JoinGroupRequest.UNKNOWN_MEMBER_ID``)."""


class GroupProtocol(NamedTuple):
    """A protocol that a member supports, such as an assignor, with the member's metadata for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True)
class JoinGroup:
    """A JoinGroup request.

    Attributes:
        group_id: The group; not empty.
        member_id: The id that a coordinator gave the client, or "".
        instance_id: ``group.instance.id`` of a static member (KIP-345), else None.
        require_known_member_id: A client without a member id must join twice (KIP-394): version 4 or later
            and no ``instance_id``.
        client_id: ``client.id`` from the request's header.
        client_host: The client's address as Java prints it: ``/127.0.0.1``.
        rebalance_timeout_ms: How long the member may take to rejoin; version 0: its session timeout.
        session_timeout_ms: How long the member may be silent.
        protocol_type: Such as ``consumer`` or ``connect``.
        protocols: The protocols that the member supports, the preferred one first.
        fresh_uuid: A random UUID, used for the member id if the coordinator gives one.
    """

    group_id: str
    member_id: str
    instance_id: str | None
    require_known_member_id: bool
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[GroupProtocol, ...]
    fresh_uuid: str

    @property
    def new_member_id(self) -> str:
        """The member id that the client gets if it needs one (``GroupMetadata.generateMemberId``)."""
        return f"{self.client_id if self.instance_id is None else self.instance_id}-{self.fresh_uuid}"


@dataclass(frozen=True, slots=True)
class SyncGroup:
    """A SyncGroup request; ``protocol_type`` and ``protocol`` are None before version 5 (KIP-559)."""

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None
    protocol_type: str | None
    protocol: str | None
    assignments: Mapping[str, bytes]


@dataclass(frozen=True, slots=True)
class MemberCall:
    """The fields of a Heartbeat or an OffsetCommit that name its sender.

    ``generation`` is negative, and ``member_id`` "", where a client commits without being a member.
    """

    group_id: str
    generation: int
    member_id: str
    instance_id: str | None


class LeavingMember(NamedTuple):
    """A member that LeaveGroup names: by its member id, or a static one by ``group.instance.id`` alone."""

    member_id: str
    instance_id: str | None
