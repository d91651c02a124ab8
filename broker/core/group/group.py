"""A group: its members, its leader, its generation and its protocol (Kafka: ``GroupMetadata.scala``).

Decisions change it; it keeps its own parts consistent and decides nothing. Everything runs on one event loop,
so there is no lock.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.broker.core.group.member import Member
from barnabas.broker.core.group.requests import CONSUMER, GroupProtocol, Token
from barnabas.broker.core.group.states import GROUP_TRANSITIONS, GroupState
from barnabas.broker.core.group.stored import StoredGroup
from barnabas.broker.core.group.subscription import subscribed_topics
from barnabas.cluster.model.steps import Steps


@dataclass(slots=True)
class InitialDelay:
    """The first join round of a group waits for more members (``InitialDelayedJoin``, KIP-134).

    Attributes:
        configured_ms: ``group.initial.rebalance.delay.ms``.
        delay_ms: The wait that runs now.
        remaining_ms: How much longer the round may be extended after it.
    """

    configured_ms: int
    delay_ms: int
    remaining_ms: int


class Group:
    """A group of one partition of ``__consumer_offsets``.

    Attributes:
        group_id: The group.
        partition: The partition of ``__consumer_offsets`` that holds it.
        state: The state of the group; `transition_to` changes it.
        state_timestamp_ms: The time of the last transition in milliseconds since 1970; None if the group was
            loaded from a record older than 2.1.
        protocol_type: The type of its last members; None if it never had members.
        protocol: The protocol of this generation; None before the first and in an empty group.
        generation: The number of join rounds that have ended.
        assigned_generation: The last generation whose assignment was given to the log, -1 before the first.
        leader: The member that assigns; None without members.
        members: The members by their id, in the order of joining.
        static_members: Member ids by ``group.instance.id``.
        pending_members: Ids given to clients that have not joined with them yet.
        pending_sync: Members of this generation that have not sent SyncGroup yet.
        subscriptions: The metadata of this generation's members, if they are consumers; None once it is read.
        subscribed_topics: Topics that the members subscribe to; None if that is unknown or not read.
        initial_delay: Set while the first join round waits for more members.
        member_added: A member joined during the wait of the initial delay.
        awaiting_join: How many members have a parked JoinGroup.
    """

    __slots__ = (
        "_supported",
        "assigned_generation",
        "awaiting_join",
        "generation",
        "group_id",
        "initial_delay",
        "leader",
        "member_added",
        "members",
        "partition",
        "pending_members",
        "pending_sync",
        "protocol",
        "protocol_type",
        "state",
        "state_timestamp_ms",
        "static_members",
        "subscribed_topics",
        "subscriptions",
    )

    def __init__(self, group_id: str, partition: int, now_ms: int) -> None:
        self.group_id = group_id
        self.partition = partition
        self.state = GroupState.EMPTY
        self.state_timestamp_ms: int | None = now_ms
        self.protocol_type: str | None = None
        self.protocol: str | None = None
        self.generation = 0
        self.assigned_generation = -1
        self.leader: str | None = None
        self.members: dict[str, Member] = {}
        self.static_members: dict[str, str] = {}
        self.pending_members: set[str] = set()
        self.pending_sync: set[str] = set()
        self.subscriptions: tuple[bytes, ...] | None = None
        self.subscribed_topics: frozenset[str] | None = None
        self.initial_delay: InitialDelay | None = None
        self.member_added = False
        self.awaiting_join = 0
        self._supported: Counter[str] = Counter()

    def transition_to(self, target: GroupState, now_ms: int) -> None:
        """Change the state; a transition that is not in the table is a bug."""
        assert (self.state, target) in GROUP_TRANSITIONS, f"{self.group_id}: {self.state} to {target}"
        self.state = target
        self.state_timestamp_ms = now_ms

    @property
    def rebalance_timeout_ms(self) -> int:
        """The largest rebalance timeout of the members, 0 without members."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_joined(self) -> bool:
        """Return whether every member has a parked JoinGroup and no given member id is unused."""
        return len(self.members) == self.awaiting_join and not self.pending_members

    def static_member(self, instance_id: str | None) -> Member | None:
        """Return the member with a ``group.instance.id``, if there is one."""
        member_id = None if instance_id is None else self.static_members.get(instance_id)
        return None if member_id is None else self.members[member_id]

    def supports(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Return whether a member with these protocols may join.

        An empty group takes any type and protocols, but neither may be missing. Otherwise the type must be
        the group's, and at least one protocol must be supported by all members.
        """
        if self.state is GroupState.EMPTY:
            return bool(protocol_type) and any(True for _ in protocols)
        return self.protocol_type == protocol_type and any(
            self._supported[name] == len(self.members) for name in protocols
        )

    def add(self, member: Member, protocol_type: str) -> None:
        """Add a member without a parked request; the first one determines the protocol type and leads."""
        if not self.members:
            self.protocol_type = protocol_type
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        if self.leader is None:
            self.leader = member.member_id
        self._supported.update(member.protocol_names)

    def remove(self, member: Member) -> None:
        """Remove a member without a parked request; the member that joined first of the others may lead."""
        assert not member.is_parked, member.member_id
        del self.members[member.member_id]
        if member.instance_id is not None:
            self.static_members.pop(member.instance_id, None)
        self._supported -= Counter(member.protocol_names)
        self.pending_sync.discard(member.member_id)
        if self.leader == member.member_id:
            self.leader = next(iter(self.members), None)

    def rename(self, member: Member, member_id: str) -> None:
        """Give a static member another member id; it stays leader, and a pending sync stays pending."""
        old = member.member_id
        del self.members[old]
        member.member_id = member_id
        self.members[member_id] = member
        assert member.instance_id is not None
        self.static_members[member.instance_id] = member_id
        if self.leader == old:
            self.leader = member_id
        if old in self.pending_sync:
            self.pending_sync.remove(old)
            self.pending_sync.add(member_id)

    def set_protocols(self, member: Member, protocols: tuple[GroupProtocol, ...]) -> None:
        """Replace a member's protocols."""
        self._supported -= Counter(member.protocol_names)
        member.protocols = protocols
        self._supported.update(member.protocol_names)

    def park_join(self, member: Member, token: Token | None) -> Token | None:
        """Set the parked JoinGroup of a member, or remove it with None; return the former one."""
        before = member.join_token
        member.join_token = token
        self.awaiting_join += (token is not None) - (before is not None)
        return before

    def select_protocol(self) -> str:
        """Return the protocol with the most votes.

        Candidates are the protocols that all members support; each member votes for the one that it prefers.
        In a tie the protocol wins that was voted for first, in the order of joining.
        """
        candidates = {name for name, count in self._supported.items() if count == len(self.members)}
        votes = Counter(member.vote(candidates) for member in self.members.values())
        return max(votes, key=votes.__getitem__)

    def next_generation(self, now_ms: int) -> None:
        """Begin the next generation with the members that are left."""
        self.generation += 1
        self.protocol = self.select_protocol() if self.members else None
        self.keep_subscriptions()
        self.transition_to(GroupState.COMPLETING_REBALANCE if self.members else GroupState.EMPTY, now_ms)
        self.pending_sync = set(self.members)

    def keep_subscriptions(self) -> None:
        """Keep what the members of this generation subscribe to, to be read when it is needed.

        Reading takes a while: 30 ms for 1,000 members with 100 topics each.
        """
        self.subscriptions = self.subscribed_topics = None
        if self.protocol_type == CONSUMER:
            protocol = self.protocol or ""
            self.subscriptions = tuple(member.metadata(protocol) for member in self.members.values())

    def read_subscriptions(self) -> Steps[None]:
        """Find the topics that the members subscribe to; a generation that begins meanwhile is read, too."""
        while (unread := self.subscriptions) is not None:
            topics = yield from subscribed_topics(unread)
            if self.subscriptions is unread:
                self.subscribed_topics, self.subscriptions = topics, None

    def stored(self, assignments: Mapping[str, bytes]) -> StoredGroup:
        """Return the group as its record holds it, with the assignment of each member."""
        return StoredGroup(
            self.protocol_type or "",
            self.generation,
            self.protocol,
            self.leader,
            self.state_timestamp_ms,
            tuple(
                member.stored(self.protocol or "", assignments[member_id])
                for member_id, member in self.members.items()
            ),
        )


@dataclass(frozen=True, slots=True)
class PartitionGroups:
    """The groups of a partition that this broker leads and has loaded.

    Attributes:
        partition: The partition of ``__consumer_offsets``.
        by_id: Its groups, none of them dead.
    """

    partition: int
    by_id: dict[str, Group] = field(default_factory=dict)

    def get_or_create(self, group_id: str, now_ms: int) -> Group:
        """Return the group ``group_id``; an unknown one is created empty."""
        group = self.by_id.get(group_id)
        if group is None:
            group = self.by_id[group_id] = Group(group_id, self.partition, now_ms)
        return group
