"""The state of one hosted partition: role, epochs, ISR with its pending change, followers, high watermark.

Source: Kafka's ``Partition`` of release 2.8 (``makeLeader``, ``makeFollower``, ``expandIsr``, ``shrinkIsr``)
and the rules of KIP-101, KIP-320 and KIP-497. The log itself is not here: its end offset comes in as an
argument. Times are milliseconds on the broker's monotonic clock.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType

from barnabas.broker.core.replication import high_watermark, isr
from barnabas.broker.core.replication.replica_selection import ReplicaView
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

_NOTHING: Mapping[BrokerId, Offset] = MappingProxyType({})


class Role(Enum):
    """The role of this broker for a partition."""

    NONE = "no LeaderAndIsr has been applied yet"
    LEADER = "leader"
    FOLLOWER = "follower"


@dataclass(frozen=True, slots=True)
class IsrProposal:
    """A change of the ISR that the leader wants to write.

    Attributes:
        state: The state to write, if the version in ZooKeeper is still ``state.leader_and_isr.version``.
        newcomer: The broker that enters, or None if members leave.
    """

    state: PartitionState
    newcomer: BrokerId | None


class Conflict(Enum):
    """The outcome of an ISR change whose conditional write met another version."""

    WRITTEN_BEFORE = "ZooKeeper has this very ISR: an earlier try was written and its answer lost"
    ADOPTED = "another ISR was written in our leader epoch: it is the ISR now"
    SUPERSEDED = "ZooKeeper has a newer leader epoch: the change stays pending until LeaderAndIsr comes"
    OUTDATED = "this change is no longer pending"


@dataclass(frozen=True, slots=True)
class FollowerFetch:
    """The effects of a follower's fetch."""

    high_watermark_rose: bool
    may_join: bool
    must_leave: bool = False


class Replica:
    """The state of one partition at this broker.

    Attributes:
        topic_partition: The partition.
        role: This broker's role.
        leader: The leader, or ``NO_LEADER``.
        leader_epoch: The epoch of the last LeaderAndIsr applied, -1 before the first.
        controller_epoch: The epoch of the controller that elected this leader; an ISR change writes it again.
        version: The version of the partition's state in ZooKeeper.
        assignment: The replicas.
        isr: The committed ISR; empty at a follower.
        high_watermark: The first offset not known to be on all in-sync replicas.
        epoch_start_offset: A leader's log end offset when it became leader of this epoch.
        leadership_start_offset: The same of the first epoch of those that this broker has led in a row.
    """

    def __init__(
        self, broker_id: BrokerId, topic_partition: TopicPartition, lag_time_max_ms: int, checkpointed: Offset
    ) -> None:
        """Create a replica without a role; ``checkpointed`` is its last checkpointed high watermark."""
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
        self.leadership_start_offset = Offset(0)
        self._broker_id = broker_id
        self._lag_time_max_ms = lag_time_max_ms
        self._remotes: dict[BrokerId, isr.RemoteReplica] = {}
        self._sent_to_former: Mapping[BrokerId, Offset] = _NOTHING
        """``sent_to`` of brokers that are no replicas now and may become replicas again."""
        self._pending: IsrProposal | None = None
        self._maximal: frozenset[BrokerId] = frozenset()

    @property
    def is_leader(self) -> bool:
        """Return whether this broker leads the partition."""
        return self.role is Role.LEADER

    @property
    def pending(self) -> IsrProposal | None:
        """The ISR change that is being written, or None."""
        return self._pending

    @property
    def maximal_isr(self) -> frozenset[BrokerId]:
        """The ISR that counts for the high watermark: the committed one and a newcomer being added.

        Members that a pending shrink removes still count (``Partition.maximalIsr``).
        """
        return self._maximal

    @property
    def is_under_replicated(self) -> bool:
        """Return whether this broker leads and fewer replicas are in sync than the partition has.

        During a reassignment the replicas before it count (KIP-352).
        """
        return self.is_leader and len(self.isr) < len(self.assignment.origin)

    def views(self, racks: Callable[[BrokerId], str | None], now_ms: int) -> list[ReplicaView]:
        """Return the followers as views for the choice of the replica to read from."""
        return [
            ReplicaView(
                broker_id,
                racks(broker_id),
                remote.log_start_offset,
                remote.log_end_offset,
                now_ms - remote.caught_up_ms,
            )
            for broker_id, remote in self._remotes.items()
        ]

    def remote(self, broker_id: BrokerId) -> isr.RemoteReplica | None:
        """Return the state of a follower; None if the broker is not a follower of this leader."""
        return self._remotes.get(broker_id)

    def judge_epoch(self, current_leader_epoch: LeaderEpoch, *, from_follower: bool = False) -> ErrorCode:
        """Return the error of a request that a leader serves, or a follower too, in ``current_leader_epoch``.

        -1 is not checked. The epoch is checked first, so that a client with old metadata learns which side is
        behind.
        """
        if current_leader_epoch != UNKNOWN_LEADER_EPOCH:
            if current_leader_epoch < self.leader_epoch:
                return ErrorCode.FENCED_LEADER_EPOCH
            if current_leader_epoch > self.leader_epoch:
                return ErrorCode.UNKNOWN_LEADER_EPOCH
        serves = self.role is Role.LEADER or (from_follower and self.role is Role.FOLLOWER)
        return ErrorCode.NONE if serves else ErrorCode.NOT_LEADER_OR_FOLLOWER

    def become_leader(self, request: LeaderAndIsrPartition, log_end_offset: Offset, now_ms: int) -> bool:
        """Become the leader; return whether another broker led before.

        Followers are unknown until they fetch in this epoch. The exception is a broker that led in the epoch
        just before: its followers still have what they fetched from it. If there were epochs in between that
        this broker did not learn of, another broker may have led and made the followers truncate (Kafka keeps
        the state even then).
        """
        led_before = self.role is Role.LEADER
        leads_on = led_before and request.state.leader_and_isr.leader_epoch <= self.leader_epoch + 1
        self._adopt(request)
        self.role = Role.LEADER
        self.isr = request.state.leader_and_isr.isr
        self._maximal = frozenset(self.isr)
        self.epoch_start_offset = log_end_offset
        if not leads_on:
            self.leadership_start_offset = log_end_offset
            self._remotes = {}
            self._sent_to_former = _NOTHING
        self._assign_followers()
        # A fetch session of the former epoch says nothing about this one; members of the ISR count as caught
        # up now.
        for broker_id, remote in self._remotes.items():
            remote.session = None
            remote.caught_up_ms = now_ms if broker_id in self.isr else isr.NEVER_MS
        self._raise_high_watermark(log_end_offset, now_ms)
        return not led_before

    def _assign_followers(self) -> None:
        """Keep what is known of the followers that stay, and what was sent to those that leave."""
        before, former = self._remotes, self._sent_to_former
        self._remotes = {
            broker_id: before.get(broker_id)
            or isr.RemoteReplica(sent_to=former.get(broker_id, isr.BEFORE_ANY))
            for broker_id in self.assignment.replicas
            if broker_id != self._broker_id
        }
        gone = {each: remote.sent_to for each, remote in before.items() if each not in self._remotes}
        if gone:
            self._sent_to_former = {**former, **gone}

    def become_follower(self, request: LeaderAndIsrPartition) -> bool:
        """Become a follower; return whether the leader is another broker than before."""
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
        """Note that the leader's log is about to grow beyond ``log_end_offset``."""
        for remote in self._remotes.values():
            remote.leader_appends(log_end_offset)

    def appended(self, log_end_offset: Offset, now_ms: int) -> bool:
        """Note the growth of the log to ``log_end_offset``; return whether the high watermark rose."""
        return self._raise_high_watermark(log_end_offset, now_ms)

    def follower_fetched(
        self,
        broker_id: BrokerId,
        fetch_offset: Offset,
        *,
        log_start_offset: Offset,
        log_end_offset: Offset,
        now_ms: int,
        session: isr.SessionContact | None,
    ) -> FollowerFetch:
        """Note a follower's successful fetch in the current leader epoch.

        The caller has checked the epoch and that the logs do not diverge: nothing else may move the high
        watermark (KIP-320, KAFKA-13141).

        Args:
            broker_id: A follower that ``remote`` knows.
            fetch_offset: The follower's log end offset.
            log_start_offset: The follower's.
            log_end_offset: The leader's, before it reads for this fetch.
            now_ms: The time at which the fetch arrived.
            session: The fetch session it belongs to.
        """
        remote = self._remotes[broker_id]
        moved = remote.fetched(fetch_offset, log_start_offset, log_end_offset, now_ms, session)
        rose = moved and self._raise_high_watermark(log_end_offset, now_ms)
        return FollowerFetch(rose, self._may_join(broker_id, remote), self._has_lost(broker_id))

    def sent(self, broker_id: BrokerId, next_offset: Offset) -> None:
        """Note that the records below ``next_offset`` were sent to a follower, if it still is one."""
        remote = self._remotes.get(broker_id)
        if remote is not None:
            remote.sent_to = max(remote.sent_to, next_offset)

    def may_have(self, broker_id: BrokerId, fetch_offset: Offset) -> bool:
        """Return whether a follower can have everything below ``fetch_offset``.

        What lies below the start of this leadership may come from former leaders; what lies above, only from
        this one. A new epoch of the same leader changes nothing, unless this broker has missed epochs in
        between. A fetch from beyond that is a stale one, of a topic that was deleted and created again, comes
        from another log, or lies. It must not move the high watermark.
        """
        return fetch_offset <= max(self.leadership_start_offset, self._remotes[broker_id].sent_to)

    def _has_lost(self, broker_id: BrokerId) -> bool:
        """Return whether an ISR member has lost committed records: its log ends below the high watermark."""
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
        """Note a new log start offset of a follower, if it still is one."""
        remote = self._remotes.get(broker_id)
        if remote is not None:
            remote.log_start_offset = log_start_offset

    def low_watermark(self, log_start_offset: Offset, is_live: Callable[[BrokerId], bool]) -> Offset:
        """Return the lowest log start offset of this leader and its live followers; -1 if one is unknown.

        Records below that offset are deleted at all of them (KIP-107).
        """
        starts = (remote.log_start_offset for each, remote in self._remotes.items() if is_live(each))
        return min((log_start_offset, *starts))

    def session_ended(self, broker_id: BrokerId, session: isr.SessionContact) -> None:
        """Note that the follower's fetch session has ended, or no longer contains the partition."""
        remote = self._remotes.get(broker_id)
        if remote is not None and remote.session is session:
            remote.session = None

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
        """Adopt the leader's high watermark, as far as this follower's log reaches."""
        self.high_watermark = high_watermark.bounded(leader_high_watermark, log_start, log_end)

    def truncated(self, log_start: Offset, log_end: Offset) -> None:
        """Limit the high watermark to the log, which was truncated."""
        self.high_watermark = high_watermark.bounded(self.high_watermark, log_start, log_end)

    def next_to_join(self) -> BrokerId | None:
        """Return a follower that fetches in this epoch and may enter the ISR now, or None.

        This finds followers whose last fetch came while another change was pending: in a fetch session, a
        follower that has everything does not send the partition again.
        """
        return next(
            (
                broker_id
                for broker_id, remote in self._remotes.items()
                if remote.session is not None and self._may_join(broker_id, remote)
            ),
            None,
        )

    def propose_expansion(self, newcomer: BrokerId) -> IsrProposal:
        """Propose that ``newcomer`` enters the ISR; from now on it counts for the high watermark."""
        self._maximal = frozenset((*self.isr, newcomer))
        return self._propose((*self.isr, newcomer), newcomer)

    def propose_shrink(self, log_end_offset: Offset, now_ms: int) -> IsrProposal | None:
        """Return the shrink of the ISR that is due, or None; until it is written, leaving members count.

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
        """Note that ``proposal`` was written as ``version``; return whether the high watermark rose."""
        if proposal is not self._pending:
            return False
        return self._commit(proposal.state.leader_and_isr.written_as(version), log_end_offset, now_ms)

    def isr_conflicts(
        self, proposal: IsrProposal, found: PartitionState, log_end_offset: Offset, now_ms: int
    ) -> tuple[Conflict, bool]:
        """Resolve a conflict: the write of ``proposal`` met another version, which has the state ``found``.

        Returns:
            The outcome for the proposal, and whether the high watermark rose by it.
        """
        if proposal is not self._pending:
            return Conflict.OUTDATED, False
        theirs, ours = found.leader_and_isr, proposal.state.leader_and_isr
        # Kafka's cases: another leader or epoch wins; the same ISR is our own lost write; any other ISR is
        # adopted.
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
