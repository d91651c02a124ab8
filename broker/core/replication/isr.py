"""A remote replica's fetch state at its leader, and the rules by which the ISR shrinks and expands.

Source: ``Replica.updateFetchState``, ``Partition.needsExpandIsr`` and ``Partition.isFollowerOutOfSync`` of
Kafka 2.8; KAFKA-7128 (a follower enters the ISR only once it has reached the start of the leader's epoch).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.cluster.model.ids import BrokerId, Offset

UNKNOWN = Offset(-1)
"""The log end offset of a follower that has not fetched in this leader epoch."""

BEFORE_ANY = Offset(0)
"""The leader's log end offset at a follower's last fetch, before the first fetch."""

NEVER_MS = -(2**62)
"""The caught-up time of a replica that was not caught up in this leader epoch."""


@dataclass(slots=True)
class SessionContact:
    """The time of the last request of a follower's fetch session.

    A request of a session stands for all partitions of the session, although it names only those that
    changed. For the others this time counts as the time of their last fetch.

    Attributes:
        at_ms: Milliseconds on the broker's monotonic clock.
    """

    at_ms: int


@dataclass(slots=True)
class RemoteReplica:
    """The state that a leader keeps of one follower in the current leader epoch.

    Times are milliseconds on the broker's monotonic clock.

    Attributes:
        caught_up_ms: The time at which it last had everything that the leader had.
        log_end_offset: The offset of its last successful fetch, or -1.
        log_start_offset: Its log start offset in its last fetch, or -1.
        leader_end_offset: The leader's log end offset at its last fetch.
        fetched_ms: The time of its last fetch.
        session: The session in which it fetches, or None.
        sent_to: The offset after the last record that this leader sent it.
    """

    caught_up_ms: int = NEVER_MS
    log_end_offset: Offset = UNKNOWN
    log_start_offset: Offset = UNKNOWN
    leader_end_offset: Offset = BEFORE_ANY
    fetched_ms: int = NEVER_MS
    session: SessionContact | None = None
    sent_to: Offset = BEFORE_ANY

    def fetched(
        self,
        offset: Offset,
        log_start_offset: Offset,
        leader_end_offset: Offset,
        now_ms: int,
        session: SessionContact | None,
    ) -> bool:
        """Note a successful fetch at ``offset``; return whether the follower's log end offset changed.

        The follower was caught up now if it has all that the leader has, and at its last fetch if it has all
        that the leader had then. So one that always trails by less than a fetch counts as caught up.
        """
        # A. The follower has all records of now, so it is caught up now.
        # B. It has all records that the leader had when it fetched last, so it was caught up then. This
        # keeps a follower in the ISR under constant writes, although it never reaches the moving end.
        # C. It has fewer: its caught-up time stays, and the lag grows.
        if offset >= leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        moved = offset != self.log_end_offset
        self.log_end_offset = offset
        self.log_start_offset = log_start_offset
        self.leader_end_offset = leader_end_offset
        self.fetched_ms = now_ms
        self.session = session
        return moved

    def leader_appends(self, old_leader_end_offset: Offset) -> None:
        """Note that the leader's log is about to grow.

        A replica that has all of it was caught up when its session last sent a request.
        """
        if self.session is not None and self.log_end_offset >= old_leader_end_offset:
            self.caught_up_ms = max(self.caught_up_ms, self.session.at_ms)
            self.fetched_ms = max(self.fetched_ms, self.session.at_ms)

    def is_out_of_sync(self, leader_end_offset: Offset, now_ms: int, lag_time_max_ms: int) -> bool:
        """Return whether the replica must leave the ISR; one that has all records never must."""
        return self.log_end_offset != leader_end_offset and now_ms - self.caught_up_ms > lag_time_max_ms

    def may_join(self, high_watermark: Offset, epoch_start_offset: Offset) -> bool:
        """Return whether the replica may enter the ISR: it has all committed and the epoch's start."""
        return self.log_end_offset >= high_watermark and self.log_end_offset >= epoch_start_offset


def out_of_sync(
    isr: Iterable[BrokerId],
    remotes: Mapping[BrokerId, RemoteReplica],
    leader_end_offset: Offset,
    now_ms: int,
    lag_time_max_ms: int,
) -> tuple[BrokerId, ...]:
    """Return the members of ``isr`` that must leave it, in its order; the leader is no remote and stays."""
    return tuple(
        member
        for member in isr
        if member in remotes and remotes[member].is_out_of_sync(leader_end_offset, now_ms, lag_time_max_ms)
    )
