"""A group's metadata as its record in ``__consumer_offsets`` holds it.

Source: ``GroupMetadataValue.json`` of Kafka 2.8. A group is persisted as one and loaded from one.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StoredMember:
    """A member of a group as its record holds it; times in milliseconds.

    Attributes:
        member_id: The id that the coordinator gave it.
        instance_id: ``group.instance.id`` of a static member (KIP-345), else None.
        client_id: What its client calls itself.
        client_host: Where it connected from.
        rebalance_timeout_ms: How long it may take to rejoin.
        session_timeout_ms: How long it may be silent.
        subscription: Its metadata for the chosen protocol.
        assignment: What the leader assigned to it.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes


@dataclass(frozen=True, slots=True)
class StoredGroup:
    """A group's metadata as its record holds it.

    Attributes:
        protocol_type: Such as ``consumer``.
        generation: The generation that the record describes.
        protocol: The chosen protocol; None in an empty group.
        leader: The member that assigns; None in an empty group.
        state_timestamp_ms: When the group came into its state, milliseconds since 1970; None if unknown.
        members: Its members.
    """

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    state_timestamp_ms: int | None
    members: tuple[StoredMember, ...]
