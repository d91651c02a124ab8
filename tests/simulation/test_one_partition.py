"""One partition, three replicas, any order of events: the replication cores against Kip320's invariants.

The cores are the broker's own; logs are lists, ZooKeeper is one conditional register, and every message may
be late: a broker hears of a leadership when it is told, an ISR write may succeed and its answer be lost.
Elections are clean.
"""

from __future__ import annotations

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from broker.core.divergence import Agreement, agreement
from broker.core.follower_fetch import cut_on_becoming_follower, cut_on_divergence
from broker.core.isr import Hearing
from broker.core.leader_epochs import LeaderEpochCache
from broker.core.replica import Replica, Role
from cluster.model.errors import ErrorCode
from cluster.model.ids import TopicPartition
from cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from cluster.model.requests import LeaderAndIsrPartition

TP = TopicPartition("t", 0)
IDS = (1, 2, 3)
LAG = 10

brokers = st.sampled_from(IDS)


class Broker:
    """One replica; its log and its checkpointed high watermark outlive a crash."""

    def __init__(self, broker_id):
        self.id = broker_id
        self.log = []
        self.starts = []
        self.checkpoint = 0
        self.lives = 0
        self.start()

    def start(self):
        self.alive = True
        self.lives += 1
        self.replica = Replica(self.id, TP, LAG, min(self.checkpoint, len(self.log)))

    @property
    def end(self):
        return len(self.log)

    @property
    def epochs(self):
        return LeaderEpochCache(self.starts)

    def append(self, records):
        for epoch, value in records:
            self.note_epoch(epoch)
            self.log.append((epoch, value))

    def note_epoch(self, epoch):
        cache = self.epochs
        cache.assign(epoch, self.end)
        self.starts = cache.entries

    def truncate(self, offset):
        del self.log[offset:]
        cache = self.epochs
        cache.truncate_from_end(offset)
        self.starts = cache.entries
        self.replica.truncated(0, self.end)


class OnePartition(RuleBasedStateMachine):
    """The cluster as a whole."""

    def __init__(self):
        super().__init__()
        self.brokers = {i: Broker(i) for i in IDS}
        self.register = PartitionState(LeaderAndIsr.initial(1, IDS), 1)
        self.now = 0
        self.values = 0
        self.acknowledged = {}
        self.high_watermarks = {}

    @initialize()
    def everyone_hears_of_the_first_leader(self):
        for broker_id in IDS:
            self.hear(broker_id)

    def write(self, leadership):
        version = self.register.leader_and_isr.version + 1
        self.register = PartitionState(leadership.written_as(version), 1)

    @rule(broker_id=brokers)
    def hear(self, broker_id):
        """The controller's LeaderAndIsr arrives, with what stands in ZooKeeper now."""
        broker = self.brokers[broker_id]
        leadership = self.register.leader_and_isr
        if not broker.alive or leadership.leader_epoch <= broker.replica.leader_epoch:
            return
        order = LeaderAndIsrPartition(TP, self.register, Assignment(IDS))
        if leadership.leader == broker_id:
            broker.note_epoch(leadership.leader_epoch)
            broker.replica.become_leader(order, broker.end, self.now)
        else:
            broker.replica.become_follower(order)
            cut = cut_on_becoming_follower(
                broker.epochs.latest_epoch, broker.end, broker.replica.high_watermark
            )
            if cut is not None:
                broker.truncate(cut)

    @rule()
    def everyone_hears(self):
        for broker_id in IDS:
            self.hear(broker_id)

    @rule()
    def produce(self):
        """Every broker that thinks it leads takes a record in."""
        for broker in self.brokers.values():
            if broker.alive and broker.replica.role is Role.LEADER:
                self.values += 1
                broker.replica.before_append(broker.end)
                broker.append([(broker.replica.leader_epoch, self.values)])
                broker.replica.appended(broker.end, self.now)

    @rule(most=st.integers(0, 3))
    def everyone_fetches(self, most):
        for broker_id in IDS:
            self.fetch(broker_id, most)

    @rule(broker_id=brokers, most=st.integers(0, 3))
    def fetch(self, broker_id, most):
        follower = self.brokers[broker_id]
        if not follower.alive or follower.replica.role is not Role.FOLLOWER:
            return
        leader = self.brokers[follower.replica.leader]
        if (
            not leader.alive
            or leader.replica.judge_epoch(follower.replica.leader_epoch) is not ErrorCode.NONE
        ):
            return
        last = follower.epochs.latest_epoch
        last = -1 if last is None else last
        leader_end = leader.epochs.end_offset_for(last, leader.end)
        match agreement(leader_end, last, follower.end):
            case Agreement.DIVERGES:
                own_end = follower.epochs.end_offset_for(leader_end.epoch, follower.end)
                follower.truncate(
                    cut_on_divergence(leader_end, own_end, follower.end, follower.replica.high_watermark)
                )
            case Agreement.AGREES:
                self.replicate(leader, follower, most)
            case Agreement.UNKNOWN:
                raise AssertionError("a leader knows every epoch up to its own")

    def replicate(self, leader, follower, most):
        outcome = leader.replica.follower_fetched(
            follower.id,
            follower.end,
            log_start_offset=0,
            log_end_offset=leader.end,
            now_ms=self.now,
            hearing=Hearing(self.now),
        )
        if outcome.may_join:
            leader.replica.propose_expansion(follower.id)
        high_watermark = leader.replica.high_watermark
        follower.append(leader.log[follower.end : follower.end + most])
        follower.replica.follow_high_watermark(high_watermark, 0, follower.end)

    @rule(wait=st.sampled_from((0, 2 * LAG)))
    def look_for_laggards(self, wait):
        self.now += wait
        for broker in self.brokers.values():
            if broker.alive:
                broker.replica.propose_shrink(broker.end, self.now)

    @rule(answer_is_lost=st.booleans())
    def write_isrs(self, answer_is_lost):
        for broker in self.brokers.values():
            if broker.alive and broker.replica.pending is not None:
                self.write_isr(broker, answer_is_lost)

    def write_isr(self, broker, answer_is_lost):
        proposal = broker.replica.pending
        wanted = proposal.state.leader_and_isr
        if wanted.version != self.register.leader_and_isr.version:
            broker.replica.isr_conflicts(proposal, self.register, broker.end, self.now)
            return
        self.write(wanted)
        if not answer_is_lost:
            version = self.register.leader_and_isr.version
            broker.replica.isr_written(proposal, version, broker.end, self.now)

    @rule(choice=st.integers(0, 2))
    def elect(self, choice):
        """The controller elects a live member of the ISR, and takes the dead ones out."""
        leadership = self.register.leader_and_isr
        live = tuple(i for i in leadership.isr if self.brokers[i].alive)
        if live:
            self.write(leadership.new_leader(live[choice % len(live)], live))

    @rule(broker_id=brokers, checkpointed=st.booleans())
    def crash_or_restart(self, broker_id, checkpointed):
        broker = self.brokers[broker_id]
        if not broker.alive:
            broker.start()
            return
        broker.alive = False
        if checkpointed:
            broker.checkpoint = broker.replica.high_watermark

    @invariant()
    def acknowledged_records_are_on_every_in_sync_replica(self):
        for broker in self.brokers.values():
            if broker.alive and broker.replica.role is Role.LEADER:
                for offset in range(broker.replica.high_watermark):
                    assert self.acknowledged.setdefault(offset, broker.log[offset]) == broker.log[offset]
        for member in self.register.leader_and_isr.isr:
            log = self.brokers[member].log
            for offset, record in self.acknowledged.items():
                assert offset < len(log), f"{member} lacks {offset}"
                assert log[offset] == record

    @invariant()
    def the_high_watermark_never_falls_at_a_leader(self):
        """But for one that crashed, and knows no more than its checkpoint."""
        for broker in self.brokers.values():
            if broker.alive and broker.replica.role is Role.LEADER:
                reign = broker.id, broker.lives, broker.replica.leader_epoch
                assert broker.replica.high_watermark >= self.high_watermarks.get(reign, 0)
                self.high_watermarks[reign] = broker.replica.high_watermark

    @invariant()
    def logs_agree_below_every_high_watermark(self):
        for broker in self.brokers.values():
            for offset in range(broker.replica.high_watermark):
                if offset in self.acknowledged and broker.replica.role is not Role.NONE:
                    assert broker.log[offset] == self.acknowledged[offset]

    @invariant()
    def the_leader_is_in_its_isr(self):
        for broker in self.brokers.values():
            if broker.replica.role is Role.LEADER:
                assert broker.id in broker.replica.isr


def test_a_leader_that_missed_a_reign_in_between_commits_nothing_by_what_it_remembers():
    """3 has more of leader 1 than 2 has, and loses it to 2, of whose reign 1 never hears; rarely drawn."""
    partition = OnePartition()
    partition.everyone_hears_of_the_first_leader()
    partition.produce()
    partition.fetch(3, 1)
    partition.fetch(3, 1)
    partition.elect(1)
    partition.hear(2)
    partition.hear(3)
    partition.fetch(3, 1)
    partition.crash_or_restart(2, checkpointed=False)
    partition.elect(0)
    partition.hear(1)
    partition.acknowledged_records_are_on_every_in_sync_replica()


TestOnePartition = OnePartition.TestCase
TestOnePartition.settings = settings(max_examples=80, stateful_step_count=50, deadline=None)
