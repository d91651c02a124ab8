"""The state of one hosted partition: role, epochs, ISR with its pending change, followers, high watermark.

Source: Kafka's ``Partition`` of release 2.8 (``makeLeader``, ``makeFollower``, ``expandIsr``, ``shrinkIsr``)
and the rules of KIP-101, KIP-320 and KIP-497. The log itself is not here: its end offset comes in as an
argument. Times are milliseconds on the broker's monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from barnabas.broker.core import high_watermark, isr
from barnabas.cluster.model.epochs import (
    NO_CONTROLLER_EPOCH,
    UNKNOWN_LEADER_EPOCH,
    ControllerEpoch,
    LeaderEpoch,
    PartitionVersion,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition


class Role(Enum):
    """What this broker is to a partition."""

    NONE = "no LeaderAndIsr has been applied yet"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class IsrProposal:
    """An ISR change that the leader wants written.

    Attributes:
        state: What to write, under the version expected: ``state.leader_and_isr.version``.
        newcomer: The broker that enters, or None where members leave.
    """

    state: PartitionState
    newcomer: BrokerId | None


class Conflict(Enum):
    """What became of an ISR change whose conditional write met another version."""

    WRITTEN_BEFORE = "the data is what we wanted: an earlier try was written and its answer lost"
    ADOPTED = "someone else wrote within our leader epoch: what stands there is the ISR now"
    SUPERSEDED = "a newer leader epoch stands there: the change stays pending until LeaderAndIsr comes"
    OUTDATED = "this change is no longer pending"


@dataclass(frozen=True, slots=True)
class FollowerFetch:
    """What a recorded follower fetch led to."""

    high_watermark_rose: bool
    may_join: bool
    must_leave: bool = False


class Replica:
    """One partition as this broker holds it.

    Attributes:
        topic_partition: Which partition.
        role: What this broker is to it.
        leader: The leader, or ``NO_LEADER``.
        leader_epoch: The epoch of the last LeaderAndIsr applied, -1 before the first.
        controller_epoch: The reign that decided this leadership; an ISR change writes it again.
        version: The version under which the partition's state stands in ZooKeeper.
        assignment: The replicas.
        isr: The committed ISR; empty at a follower.
        high_watermark: The first offset not known to be on all in-sync replicas.
        epoch_start_offset: A leader's log end offset when it became leader of this epoch.
    """

    def __init__(
        self, broker_id: BrokerId, topic_partition: TopicPartition, lag_time_max_ms: int, checkpointed: Offset
    ) -> None:
        """A replica without role; ``checkpointed`` is its high watermark as it was last written down."""
        self.topic_partition = topic_partition
        self.role = Role.NONE
        self.leader = NO_LEADER
        self.leader_epoch: LeaderEpoch = UNKNOWN_LEADER_EPOCH
        self.controller_epoch: ControllerEpoch = NO_CONTROLLER_EPOCH
        self.version = PartitionVersion(-1)
        self.assignment = Assignment(())
        self.isr: tuple[BrokerId, ...] = ()
        self.high_watermark = checkpointed
        self.epoch_start_offset = Offset(0)
        self._broker_id = broker_id
        self._lag_time_max_ms = lag_time_max_ms
        self._remotes: dict[BrokerId, isr.RemoteReplica] = {}
        self._pending: IsrProposal | None = None
        self._maximal: frozenset[BrokerId] = frozenset()

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads the partition."""
        return self.role is Role.LEADER

    @property
    def pending(self) -> IsrProposal | None:
        """The ISR change that is being written, or None."""
        return self._pending

    @property
    def maximal_isr(self) -> frozenset[BrokerId]:
        """The committed ISR and the newcomer of a pending expansion; those about to leave still count."""
        return self._maximal

    @property
    def is_under_replicated(self) -> bool:
        """Whether this broker leads, with fewer in sync than the partition has replicas.

        While it is being reassigned those count that it had before (KIP-352).
        """
        return self.is_leader and len(self.isr) < len(self.assignment.origin)

    def remote(self, broker_id: BrokerId) -> isr.RemoteReplica | None:
        """What is known of a follower, or None where the broker is no follower of this leader."""
        return self._remotes.get(broker_id)

    def judge_epoch(self, current_leader_epoch: LeaderEpoch) -> ErrorCode:
        """Whether a request that only the leader serves, made in ``current_leader_epoch``, may be served.

        -1 is not checked. The epoch comes first, so that a client with old metadata learns which of the two
        is old.
        """
        if current_leader_epoch != UNKNOWN_LEADER_EPOCH:
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if current_leader_epoch > self.leader_epoch:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        return ErrorCode.NONE if self.role is Role.LEADER else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def become_leader(self, request: LeaderAndIsrPartition, log_end_offset: Offset, now_ms: int) -> bool:
        """Lead from now on; True where this broker did not lead before.

        Followers are unknown until they fetch in this epoch, except where this broker led in the epoch just
        before: then what they had of this same leader they still have. In an epoch in between that it never
        heard of another may have led, and had them truncate it (Kafka keeps what it knows there, too).
        """
        led_before = self.role is Role.LEADER
        leads_on = led_before and request.state.leader_and_isr.leader_epoch <= self.leader_epoch + 1
        self._adopt(request)
        self.role = Role.LEADER
        self.isr = request.state.leader_and_isr.isr
        self._maximal = frozenset(self.isr)
        self.epoch_start_offset = log_end_offset
        known = self._remotes if leads_on else {}
        self._remotes = {
            broker_id: known.get(broker_id) or isr.RemoteReplica()
            for broker_id in self.assignment.replicas
            if broker_id != self._broker_id
        }
        for broker_id, remote in self._remotes.items():
            remote.hearing = None
            remote.caught_up_ms = now_ms if broker_id in self.isr else isr.NEVER_MS
        self._raise_high_watermark(log_end_offset, now_ms)
        return not led_before

    def become_follower(self, request: LeaderAndIsrPartition) -> bool:
        """Follow from now on; True where the leader is another broker than before."""
        before = self.leader if self.role is not Role.NONE else NO_LEADER
        self._adopt(request)
        self.role = Role.FOLLOWER
        self.isr = ()
        self._maximal = frozenset()
        self._remotes = {}
        return self.leader != before

    def _adopt(self, request: LeaderAndIsrPartition) -> None:
        leadership = request.state.leader_and_isr
        self.leader = leadership.leader
        self.leader_epoch = leadership.leader_epoch
        self.version = leadership.version
        self.controller_epoch = request.state.controller_epoch
        self.assignment = request.assignment
        self._pending = None

    def before_append(self, log_end_offset: Offset) -> None:
        """The leader's log is about to grow beyond ``log_end_offset``."""
        for remote in self._remotes.values():
            remote.leader_appends(log_end_offset)

    def appended(self, log_end_offset: Offset, now_ms: int) -> bool:
        """The leader's log has grown to ``log_end_offset``; True where the high watermark rose with it."""
        return self._raise_high_watermark(log_end_offset, now_ms)

    def follower_fetched(
        self,
        broker_id: BrokerId,
        fetch_offset: Offset,
        *,
        log_start_offset: Offset,
        log_end_offset: Offset,
        now_ms: int,
        hearing: isr.Hearing | None,
    ) -> FollowerFetch:
        """Take down a follower's successful fetch, made in the current leader epoch.

        Whoever calls has judged the epoch and found that the logs do not diverge: nothing else may move the
        high watermark (KIP-320, KAFKA-13141).

        Args:
            broker_id: A broker for which ``remote`` knows something.
            fetch_offset: The follower's log end offset.
            log_start_offset: The follower's.
            log_end_offset: The leader's, before it reads for this fetch.
            now_ms: When the fetch arrived.
            hearing: The session in which it came.
        """
        remote = self._remotes[broker_id]
        moved = remote.fetched(fetch_offset, log_start_offset, log_end_offset, now_ms, hearing)
        rose = moved and self._raise_high_watermark(log_end_offset, now_ms)
        return FollowerFetch(rose, self._may_join(broker_id, remote), self._has_lost(broker_id))

    def sent(self, broker_id: BrokerId, next_offset: Offset) -> None:
        """A follower was sent what lies below ``next_offset``, if it still is one."""
        remote = self._remotes.get(broker_id)
        if remote is not None:
            remote.sent_to = max(remote.sent_to, next_offset)

    def may_have(self, broker_id: BrokerId, fetch_offset: Offset) -> bool:
        """Whether a follower can have everything below ``fetch_offset``.

        What lies below the start of this leader epoch it may have from former leaders; beyond that, only what
        this one has sent it. A fetch from further on is a former one, of a topic that was deleted and created
        again, or comes from a log that is not this one, and must not move the high watermark.
        """
        return fetch_offset <= max(self.epoch_start_offset, self._remotes[broker_id].sent_to)

    def _has_lost(self, broker_id: BrokerId) -> bool:
        """Whether an ISR member has lost committed records: its log ends below the high watermark."""
        remote = self._remotes.get(broker_id)
        return (
            remote is not None
            and broker_id in self.isr
            and isr.UNKNOWN < remote.log_end_offset < self.high_watermark
        )

    def _may_join(self, broker_id: BrokerId, remote: isr.RemoteReplica) -> bool:
        return (
            self._pending is None
            and broker_id not in self.isr
            and remote.may_join(self.high_watermark, self.epoch_start_offset)
        )

    def follower_log_starts(self, broker_id: BrokerId, log_start_offset: Offset) -> None:
        """A follower's log starts elsewhere than its last fetch said, if it still is one."""
        remote = self._remotes.get(broker_id)
        if remote is not None:
            remote.log_start_offset = log_start_offset

    def low_watermark(self, log_start_offset: Offset, is_live: Callable[[BrokerId], bool]) -> Offset:
        """The lowest log start offset of this leader, which is given, and its live followers, -1 if unknown.

        What lies below it is deleted at all of them (KIP-107).
        """
        starts = (remote.log_start_offset for each, remote in self._remotes.items() if is_live(each))
        return min((log_start_offset, *starts))

    def silent(self, broker_id: BrokerId, hearing: isr.Hearing) -> None:
        """The session in which the follower fetched has ended, or names the partition no more."""
        remote = self._remotes.get(broker_id)
        if remote is not None and remote.hearing is hearing:
            remote.hearing = None

    def _raise_high_watermark(self, log_end_offset: Offset, now_ms: int) -> bool:
        followers = (
            high_watermark.Follower(
                remote.log_end_offset, broker_id in self._maximal, now_ms - remote.caught_up_ms
            )
            for broker_id, remote in self._remotes.items()
        )
        candidate = high_watermark.candidate(log_end_offset, followers, self._lag_time_max_ms)
        if candidate <= self.high_watermark:
            return False
        self.high_watermark = candidate
        return True

    def follow_high_watermark(
        self, leader_high_watermark: Offset, log_start: Offset, log_end: Offset
    ) -> None:
        """A follower takes its leader's high watermark over, as far as its own log reaches."""
        self.high_watermark = high_watermark.bounded(leader_high_watermark, log_start, log_end)

    def truncated(self, log_start: Offset, log_end: Offset) -> None:
        """The log was cut: the high watermark cannot lie outside it."""
        self.high_watermark = high_watermark.bounded(self.high_watermark, log_start, log_end)

    def next_to_join(self) -> BrokerId | None:
        """A follower that fetches in this epoch and may enter the ISR now, or None.

        For those whose last fetch came while another change was pending: a follower that has everything names
        the partition no more.
        """
        return next(
            (
                broker_id
                for broker_id, remote in self._remotes.items()
                if remote.hearing is not None and self._may_join(broker_id, remote)
            ),
            None,
        )

    def propose_expansion(self, newcomer: BrokerId) -> IsrProposal:
        """Let ``newcomer`` in: it counts for the high watermark from now on, before the write is known."""
        self._maximal = frozenset((*self.isr, newcomer))
        return self._propose((*self.isr, newcomer), newcomer)

    def propose_shrink(self, log_end_offset: Offset, now_ms: int) -> IsrProposal | None:
        """The shrink due, or None; those to leave count for the high watermark until it is written.

        A member that lags leaves after ``replica.lag.time.max.ms``, one that has lost committed records at
        once.
        """
        if not self.is_leader or self._pending is not None:
            return None
        lagging = isr.out_of_sync(self.isr, self._remotes, log_end_offset, now_ms, self._lag_time_max_ms)
        staying = tuple(each for each in self.isr if each not in lagging and not self._has_lost(each))
        return None if staying == self.isr else self._propose(staying, None)

    def _propose(self, members: tuple[BrokerId, ...], newcomer: BrokerId | None) -> IsrProposal:
        leadership = LeaderAndIsr(self.leader, self.leader_epoch, members, self.version)
        self._pending = IsrProposal(PartitionState(leadership, self.controller_epoch), newcomer)
        return self._pending

    def isr_written(
        self, proposal: IsrProposal, version: PartitionVersion, log_end_offset: Offset, now_ms: int
    ) -> bool:
        """``proposal`` stands in ZooKeeper under ``version``; True where the high watermark rose by it."""
        if proposal is not self._pending:
            return False
        return self._commit(proposal.state.leader_and_isr.written_as(version), log_end_offset, now_ms)

    def isr_conflicts(
        self, proposal: IsrProposal, found: PartitionState, log_end_offset: Offset, now_ms: int
    ) -> tuple[Conflict, bool]:
        """``proposal`` met another version, under which ``found`` stands.

        Returns:
            What becomes of the proposal, and whether the high watermark rose by it.
        """
        if proposal is not self._pending:
            return Conflict.OUTDATED, False
        theirs, ours = found.leader_and_isr, proposal.state.leader_and_isr
        if theirs.leader != ours.leader or theirs.leader_epoch != ours.leader_epoch:
            return Conflict.SUPERSEDED, False
        outcome = Conflict.WRITTEN_BEFORE if theirs.isr == ours.isr else Conflict.ADOPTED
        return outcome, self._commit(theirs, log_end_offset, now_ms)

    def _commit(self, leadership: LeaderAndIsr, log_end_offset: Offset, now_ms: int) -> bool:
        self.isr = leadership.isr
        self.version = leadership.version
        self._maximal = frozenset(leadership.isr)
        self._pending = None
        return self._raise_high_watermark(log_end_offset, now_ms)
