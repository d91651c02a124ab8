"""A member of a group (Kafka: ``MemberMetadata.scala`` of release 2.8)."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from barnabas.broker.core.group.requests import GroupProtocol, Token
from barnabas.broker.core.group.stored import StoredMember


@dataclass(slots=True, eq=False)
class Member:
    """A member of a group. Its id changes when a static member restarts.

    Attributes:
        member_id: The id that the coordinator gave it.
        instance_id: ``group.instance.id`` of a static member, else None.
        client_id: What its client called itself when it first joined.
        client_host: Where it connected from then.
        rebalance_timeout_ms: How long it may take to rejoin, as it said then.
        session_timeout_ms: How long it may be silent, as it said then.
        protocols: The protocols that it supports, the preferred one first.
        assignment: What the leader assigned to it in this generation.
        join_token: Its parked JoinGroup, or None. `Group` counts these: set it there.
        sync_token: Its parked SyncGroup, or None.
        is_new: No join round has ended since it was added.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocols: tuple[GroupProtocol, ...]
    assignment: bytes = b""
    join_token: Token | None = None
    sync_token: Token | None = None
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        """Return whether it has a ``group.instance.id``."""
        return self.instance_id is not None

    @property
    def is_parked(self) -> bool:
        """Return whether a request of the member is parked; its client cannot send heartbeats meanwhile."""
        return self.join_token is not None or self.sync_token is not None

    @property
    def protocol_names(self) -> frozenset[str]:
        """The names of its protocols."""
        return frozenset(name for name, _ in self.protocols)

    def __str__(self) -> str:
        # The text follows Kafka's ``MemberMetadata.toString``, up to the comma at the end.
        instance = "None" if self.instance_id is None else f"Some({self.instance_id})"
        names = ", ".join(name for name, _ in self.protocols)
        return (
            f"MemberMetadata(memberId={self.member_id}, groupInstanceId={instance}, "
            f"clientId={self.client_id}, clientHost={self.client_host}, "
            f"sessionTimeoutMs={self.session_timeout_ms}, rebalanceTimeoutMs={self.rebalance_timeout_ms}, "
            f"supportedProtocols=List({names}), )"
        )

    def metadata(self, protocol: str) -> bytes:
        """Return the metadata for a protocol that it supports."""
        return next(metadata for name, metadata in self.protocols if name == protocol)

    def vote(self, candidates: Collection[str]) -> str:
        """Return the first of its protocols that is among ``candidates``; at least one is."""
        return next(name for name, _ in self.protocols if name in candidates)

    def stored(self, protocol: str, assignment: bytes) -> StoredMember:
        """Return the member as the group's record holds it."""
        return StoredMember(
            self.member_id,
            self.instance_id,
            self.client_id,
            self.client_host,
            self.rebalance_timeout_ms,
            self.session_timeout_ms,
            self.metadata(protocol),
            assignment,
        )
