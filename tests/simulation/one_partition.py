"""One partition, three replicas, any order of events: the replication cores against Kip320's invariants.

The cores are the broker's own; logs are lists, ZooKeeper is one conditional register, and every message may
be late: a broker hears of a leadership when it is told, a fetch and its answer arrive when they do, whoever
leads by then, and an ISR write may succeed and its answer be lost.
"""

from __future__ import annotations

from typing import NamedTuple

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from barnabas.broker.core.replication.divergence import Agreement, agreement
from barnabas.broker.core.replication.follower_fetch import cut_on_becoming_follower, cut_on_divergence
from barnabas.broker.core.replication.isr import SessionContact
from barnabas.broker.core.replication.leader_epochs import LeaderEpochCache
from barnabas.broker.core.replication.replica import Replica, Role
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import LeaderAndIsrPartition

TP = TopicPartition("t", 0)
IDS = (1, 2, 3)
LAG = 10
UNDER_WAY = 4  # messages of one follower
HEALED_WITHIN = 60  # rounds in which everyone fetches and every ISR write is answered

brokers = st.sampled_from(IDS)
few = st.integers(0, 3)


class Ask(NamedTuple):
    """A fetch under way."""

    follower: int
    stream: int
    leader: int
    leader_life: int
    epoch: int
    offset: int
    last_epoch: int


class Answer(NamedTuple):
    """The answer under way."""

    ask: Ask
    records: list
    high_watermark: int
    diverging: tuple | None


class Broker:
    """One replica; its log and its checkpointed high watermark outlive a crash."""

    def __init__(self, broker_id):
        self.id = broker_id
        self.log = []
        self.starts = []
        self.checkpoint = self.lives = self.streams = 0
        self.start()

    def start(self):
        self.alive = True
        self.lives += 1
        self.streams += 1
        self.replica = Replica(self.id, TP, LAG, min(self.checkpoint, len(self.log)))

    @property
    def leads(self):
        return self.alive and self.replica.role is Role.LEADER

    @property
    def follows(self):
        return self.alive and self.replica.role is Role.FOLLOWER

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


class AnyPartition(RuleBasedStateMachine):
    """The cluster, whoever may be elected; what holds in any case, and that it heals."""

    def __init__(self):
        super().__init__()
        self.brokers = {i: Broker(i) for i in IDS}
        self.register = PartitionState(LeaderAndIsr.initial(1, IDS), 1)
        self.under_way = {i: [] for i in IDS}
        self.now = 0
        self.values = 0
        self.high_watermarks = {}

    @initialize()
    def everyone_hears_of_the_first_leader(self):
        self.everyone_hears()

    def write(self, leadership):
        written = leadership.written_as(self.register.leader_and_isr.version + 1)
        self.register = PartitionState(written, 1)

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
            latest = broker.epochs.latest_epoch
            cut = cut_on_becoming_follower(latest, broker.end, broker.replica.high_watermark)
            if cut is not None:
                broker.truncate(cut)

    @rule()
    def everyone_hears(self):
        for broker_id in IDS:
            self.hear(broker_id)

    @rule(choice=st.integers(0, 2))
    def elect(self, choice):
        """The controller elects a live member of the ISR, and takes the dead ones out."""
        leadership = self.register.leader_and_isr
        live = tuple(i for i in leadership.isr if self.brokers[i].alive)
        if live:
            self.write(leadership.new_leader(live[choice % len(live)], live))

    @rule()
    def produce(self):
        """Every broker that thinks it leads takes a record in."""
        for broker in self.brokers.values():
            if broker.leads:
                self.values += 1
                broker.replica.before_append(broker.end)
                broker.append([(broker.replica.leader_epoch, self.values)])
                broker.replica.appended(broker.end, self.now)

    @rule(most=few)
    def everyone_fetches(self, most):
        for broker_id in IDS:
            self.fetch(broker_id, most)

    @rule(broker_id=brokers, most=few)
    def fetch(self, broker_id, most):
        """Over a new stream; the leader may still get what is under way on the old one."""
        self.brokers[broker_id].streams += 1
        ask = self.question(broker_id)
        answer = None if ask is None else self.served(ask, most)
        if answer is not None:
            self.take(answer)

    @rule(broker_id=brokers)
    def ask(self, broker_id):
        """A fetch goes out; a stream has one request under way."""
        ask, under_way = self.question(broker_id), self.under_way[broker_id]
        sent = [message.ask if isinstance(message, Answer) else message for message in under_way]
        if ask is not None and len(sent) < UNDER_WAY and all(each[:5] != ask[:5] for each in sent):
            under_way.append(ask)

    @rule(broker_id=brokers)
    def one_falls_behind(self, broker_id):
        """The others go on until it leaves the ISR."""
        self.produce()
        for other in (*IDS, *IDS):
            if other != broker_id:
                self.fetch(other, 3)
        self.look_for_laggards(2 * LAG)
        self.write_isrs(answer_is_lost=False)

    @rule(broker_id=brokers, choice=few, most=few)
    def deliver(self, broker_id, choice, most):
        """Some message under way arrives: a fetch at its leader, or an answer at its follower."""
        under_way = self.under_way[broker_id]
        message = under_way.pop(choice % len(under_way)) if under_way else None
        if isinstance(message, Answer):
            self.take(message)
        elif message is not None:
            answer = self.served(message, most)
            under_way.extend([answer] if answer else [])

    def question(self, broker_id):
        """What a follower would ask now, or None."""
        follower = self.brokers[broker_id]
        if not follower.follows:
            return None
        leader, latest = self.brokers[follower.replica.leader], follower.epochs.latest_epoch
        epoch, last_epoch = follower.replica.leader_epoch, -1 if latest is None else latest
        return Ask(broker_id, follower.streams, leader.id, leader.lives, epoch, follower.end, last_epoch)

    def served(self, ask, most):
        """What the leader makes of a fetch; None where it does not get it, or refuses."""
        leader = self.brokers[ask.leader]
        judged = leader.replica.judge_epoch(ask.epoch)
        if not leader.alive or leader.lives != ask.leader_life or judged is not ErrorCode.NONE:
            return None
        leader_end = leader.epochs.end_offset_for(ask.last_epoch, leader.end)
        match agreement(leader_end, ask.last_epoch, ask.offset, 0, leader.end):
            case Agreement.DIVERGES:
                return Answer(ask, [], leader.replica.high_watermark, leader_end)
            case Agreement.AGREES:
                self.note_fetch(leader, ask)
                records = leader.log[ask.offset : ask.offset + most]
                return Answer(ask, records, leader.replica.high_watermark, None)
            case Agreement.OUT_OF_RANGE:
                raise AssertionError("a leader knows every epoch up to its own")

    def note_fetch(self, leader, ask):
        outcome = leader.replica.follower_fetched(
            ask.follower,
            ask.offset,
            log_start_offset=0,
            log_end_offset=leader.end,
            now_ms=self.now,
            session=SessionContact(self.now),
        )
        if outcome.may_join:
            leader.replica.propose_expansion(ask.follower)

    def take(self, answer):
        """A follower acts on an answer, unless it asked on another stream or in another epoch."""
        follower = self.brokers[answer.ask.follower]
        epoch = follower.replica.leader_epoch
        if not follower.follows or (follower.streams, epoch) != (answer.ask.stream, answer.ask.epoch):
            return
        if answer.diverging is None:
            follower.append(answer.records)
            follower.replica.follow_high_watermark(answer.high_watermark, 0, follower.end)
            return
        own_end, known = (
            follower.epochs.end_offset_for(answer.diverging.epoch, follower.end),
            follower.replica,
        )
        follower.truncate(cut_on_divergence(answer.diverging, own_end, follower.end, known.high_watermark))

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
            broker.replica.isr_written(proposal, wanted.version + 1, broker.end, self.now)

    @rule(broker_id=brokers, checkpointed=st.booleans())
    def crash_or_restart(self, broker_id, checkpointed):
        broker = self.brokers[broker_id]
        if not broker.alive:
            broker.start()
            return
        broker.alive = False
        broker.checkpoint = broker.replica.high_watermark if checkpointed else broker.checkpoint

    @rule(choice=st.integers(0, 2))
    def heal(self, choice):
        """All come back, one is elected as before and everything arrives: the logs become one."""
        for broker in self.brokers.values():
            if not broker.alive:
                broker.start()
        self.elect(choice)
        self.everyone_hears()
        for _ in range(HEALED_WITHIN):
            self.everyone_fetches(3)
            self.write_isrs(answer_is_lost=False)
        leader = self.brokers[self.register.leader_and_isr.leader]
        assert set(self.register.leader_and_isr.isr) == set(IDS)
        for broker in self.brokers.values():
            assert (broker.log, broker.replica.high_watermark) == (leader.log, leader.end)

    def teardown(self):
        self.heal(0)

    @invariant()
    def the_high_watermark_never_falls_at_a_leader(self):
        """But for one that crashed, and knows no more than its checkpoint."""
        for broker in self.brokers.values():
            if broker.leads:
                fence = broker.id, broker.lives, broker.replica.leader_epoch
                assert broker.replica.high_watermark >= self.high_watermarks.get(fence, 0)
                self.high_watermarks[fence] = broker.replica.high_watermark

    @invariant()
    def the_high_watermark_lies_in_the_log(self):
        for broker in self.brokers.values():
            assert 0 <= broker.replica.high_watermark <= broker.end

    @invariant()
    def the_leader_is_in_its_isr(self):
        for broker in self.brokers.values():
            if broker.replica.role is Role.LEADER:
                assert broker.id in broker.replica.isr


class CleanPartition(AnyPartition):
    """Only members of the ISR are elected: what is acknowledged is never lost."""

    def __init__(self):
        super().__init__()
        self.acknowledged = {}

    @invariant()
    def acknowledged_records_are_on_every_in_sync_replica(self):
        for broker in self.brokers.values():
            if broker.leads:
                for offset, record in enumerate(broker.log[: broker.replica.high_watermark]):
                    assert self.acknowledged.setdefault(offset, record) == record
        for member in self.register.leader_and_isr.isr:
            log = self.brokers[member].log
            for offset, record in self.acknowledged.items():
                assert offset < len(log), f"{member} lacks {offset}"
                assert log[offset] == record

    @invariant()
    def logs_agree_below_every_high_watermark(self):
        for broker in self.brokers.values():
            for offset in range(broker.replica.high_watermark):
                if offset in self.acknowledged and broker.replica.role is not Role.NONE:
                    assert broker.log[offset] == self.acknowledged[offset]


class UncleanPartition(AnyPartition):
    """Anyone who lives may be elected: what is acknowledged may be lost, and all logs agree in the end."""

    @rule(broker_id=brokers)
    def elect_uncleanly(self, broker_id):
        """KIP-106: where no member of the ISR lives, whoever does, alone."""
        leadership = self.register.leader_and_isr
        if self.brokers[broker_id].alive and not any(self.brokers[i].alive for i in leadership.isr):
            self.write(leadership.new_leader(broker_id, (broker_id,)))

    @rule(broker_id=brokers)
    def all_others_crash_and_it_is_elected(self, broker_id):
        for broker in self.brokers.values():
            if broker.alive != (broker.id == broker_id):
                self.crash_or_restart(broker.id, checkpointed=False)
        if broker_id in self.register.leader_and_isr.isr:
            self.elect(0)
        self.elect_uncleanly(broker_id)
        self.hear(broker_id)
        self.produce()
