"""Who is in sync: what the leader remembers of a remote replica, and when the ISR shrinks or expands.

Source: Kafka's ``Replica.updateFetchState``, ``Partition.needsExpandIsr`` and
``Partition.isFollowerOutOfSync`` of release 2.8; KAFKA-7128 (a follower must have reached the start of the
leader's epoch before it is let in).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, Offset

UNKNOWN = Offset(-1)
"""The log end offset of a follower that has not fetched yet in this leadership."""

BEFORE_ANY = Offset(0)
"""The leader's log end offset at a follower's last fetch, before the first."""

NEVER_MS = -(2**62)
"""The time at which a replica was last caught up that has not been so in this leadership."""


@dataclass(slots=True)
class Hearing:
    """When a follower's fetch session was last heard of.

    A session's request speaks for all its partitions, although it names only those that changed; this is what
    it says of the others.

    Attributes:
        at_ms: The time of its last request, in milliseconds on the broker's monotonic clock.
    """

    at_ms: int


@dataclass(slots=True)
class RemoteReplica:
    """What a leader remembers of one of its followers, in the current leader epoch.

    Times are milliseconds on the broker's monotonic clock.

    Attributes:
        caught_up_ms: When it last had everything the leader had.
        log_end_offset: The offset of its last successful fetch, or -1.
        log_start_offset: Its log start offset as it last said, or -1.
        leader_end_offset: The leader's log end offset at its last fetch.
        fetched_ms: The time of its last fetch.
        hearing: The session in which it fetches, or None.
        sent_to: The offset that follows the last record it was sent by this leader.
    """

    caught_up_ms: int = NEVER_MS
    log_end_offset: Offset = UNKNOWN
    log_start_offset: Offset = UNKNOWN
    leader_end_offset: Offset = BEFORE_ANY
    fetched_ms: int = NEVER_MS
    hearing: Hearing | None = None
    sent_to: Offset = BEFORE_ANY

    def fetched(
        self,
        offset: Offset,
        log_start_offset: Offset,
        leader_end_offset: Offset,
        now_ms: int,
        hearing: Hearing | None,
    ) -> bool:
        """Take down a successful fetch at ``offset``; answers whether its log end offset changed.

        It was caught up now if it has all the leader has, and at its last fetch if it has all the leader had
        then: one that always trails by less than a fetch round counts as caught up.
        """
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        moved = offset != self.log_end_offset
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_offset = leader_end_offset
        self.fetched_ms = now_ms
        self.hearing = hearing
        return moved

    def leader_appends(self, old_leader_end_offset: Offset) -> None:
        """Before the leader's log grows: a replica that has all of it had so when its session last spoke."""
        if self.hearing is not None and self.log_end_offset >= old_leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.hearing.at_ms)
            self.fetched_ms = max(self.fetched_ms, self.hearing.at_ms)

    def is_out_of_sync(self, leader_end_offset: Offset, now_ms: int, lag_time_max_ms: int) -> bool:
        """Whether it must leave the ISR; one that has all the leader has never must, however long silent."""
        return self.log_end_offset != leader_end_offset and now_ms - self.caught_up_ms > lag_time_max_ms

    def may_join(self, high_watermark: Offset, epoch_start_offset: Offset) -> bool:
        """Whether it may enter the ISR: it has all that is committed and the leader's epoch start."""
        return self.log_end_offset >= high_watermark and self.log_end_offset >= epoch_start_offset


def out_of_sync(
    isr: Iterable[BrokerId],
    remotes: Mapping[BrokerId, RemoteReplica],
    leader_end_offset: Offset,
    now_ms: int,
    lag_time_max_ms: int,
) -> tuple[BrokerId, ...]:
    """The members of ``isr`` that must leave it, in its order; the leader (who is no remote) never does."""
    return tuple(
        member
        for member in isr
        if member in remotes and remotes[member].is_out_of_sync(leader_end_offset, now_ms, lag_time_max_ms)
    )
