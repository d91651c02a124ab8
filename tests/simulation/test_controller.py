"""The controller's core in a cluster where everything happens that it answers for, in any order.

Brokers come, go, stop and lose directories; topics are made, extended, moved, deleted; leaders change ISRs,
also just before the controller writes; elections are asked for. Hypothesis chooses what happens, and in which
order the brokers answer; after each step it is looked whether what must never happen has happened.
"""

from __future__ import annotations

from collections import deque
from dataclasses import replace
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.election.effects import ScheduleReelection
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, SendStopReplica
from barnabas.controller.core.protocol.inputs import (
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    CommandReceived,
    ControllerChange,
    Expire,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    Reelect,
    ReplicaLeaderElection,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    ZkPartitionReassignment,
)

BROKERS = range(1, 5)
TOPICS = ("t", "u", "v")
LATE = 5
"""A broker that somebody may name, and that comes only in the end."""
topics, brokers = st.sampled_from(TOPICS), st.sampled_from(BROKERS)
lots = st.integers(0, 11)
targets = st.lists(st.sampled_from((*BROKERS, LATE)), min_size=1, max_size=3, unique=True)


class Cluster(RuleBasedStateMachine):
    """One controller, on broker 1, in a world of four brokers and three topics."""

    world_class: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.world = self.world_class(ControllerContext(Facts(BrokerId(1))))
        self.world.register(*BROKERS)
        self.unanswered: deque[TopicDeletionStopReplicaResponseReceived] = deque()
        self.epochs: dict[TopicPartition, int] = {}
        self.reigns: set[ControllerEpoch] = set()
        for topic in TOPICS:
            self.world.write_topic(topic, (1, 2), (2, 3, 4), (4, 1))
        self.heard(Startup())

    def heard(self, *inputs: Any) -> None:
        """The controller handles what it heard; what it asks of brokers waits for their answer.

        After contests one upon the other it pauses; here a pause takes no time.
        """
        done = self.world.run(*inputs)
        while not self.world.context.is_active and self.world.sent(ScheduleReelection, done):
            done += self.world.run(Reelect())
        for effect in done:
            if isinstance(effect, SendStopReplica):
                deleted = [p.topic_partition for p in effect.request.partitions if p.delete]
                if deleted:
                    answer = dict.fromkeys(deleted, ErrorCode.NONE)
                    life = effect.request.broker_epoch
                    self.unanswered.append(
                        TopicDeletionStopReplicaResponseReceived(effect.broker_id, life, answer)
                    )

    # What happens

    @rule(
        topic=topics,
        replicas=st.lists(st.permutations(BROKERS), min_size=1, max_size=3),
        factor=st.integers(1, 3),
    )
    def a_topic_is_made(self, topic: str, replicas: list[list[int]], factor: int) -> None:
        if topic not in self.world.topics:
            self.world.write_topic(topic, *(tuple(some[:factor]) for some in replicas))
            self.heard(TopicChange())

    @rule(topic=topics, replicas=st.permutations(BROKERS))
    def a_topic_is_extended(self, topic: str, replicas: list[int]) -> None:
        if topic in self.world.topics:
            number = len(self.world.topics[topic])
            self.world.topics[topic][number] = Assignment(tuple(map(BrokerId, replicas[:2])))
            self.heard(PartitionModifications(topic))

    @rule(topic=st.sampled_from(TOPICS[:2]))
    def a_topic_is_marked(self, topic: str) -> None:
        self.world.marked.add(topic)
        self.heard(TopicDeletion())

    @rule(broker=brokers)
    def a_broker_dies(self, broker: int) -> None:
        if BrokerId(broker) in self.world.brokers and broker != 1:
            self.world.remove(broker)
            self.heard(BrokerChange())

    @rule(broker=brokers)
    def a_broker_comes_or_bounces(self, broker: int) -> None:
        self.world.register(broker)
        self.heard(BrokerChange())

    @precondition(lambda self: self.unanswered)
    @rule(fails=st.booleans(), later=st.booleans())
    def a_broker_answers(self, fails: bool, later: bool) -> None:
        answer = self.unanswered.pop() if later else self.unanswered.popleft()
        if fails:
            errors = dict.fromkeys(answer.partition_errors, ErrorCode.KAFKA_STORAGE_ERROR)
            answer = TopicDeletionStopReplicaResponseReceived(answer.broker_id, answer.broker_epoch, errors)
        self.heard(answer)

    def partition(self, lot: int) -> TopicPartition | None:
        """One of the partitions that are led or were, and not being deleted; as a rule not to be, either."""
        context = self.world.context
        some = sorted(tp for tp in self.world.states if tp.topic not in context.topics_with_deletion_started)
        kept = [tp for tp in some if not context.is_being_deleted(tp.topic)]
        chosen = some if lot == 0 or not kept else kept
        return chosen[lot % len(chosen)] if chosen else None

    @rule(lot=lots, to=targets, by_znode=st.booleans())
    def a_partition_is_to_move(self, lot: int, to: list[int], by_znode: bool) -> None:
        tp = self.partition(lot)
        if tp is not None and by_znode:
            self.world.ask_for(**{f"{tp.topic}_{tp.partition}": tuple(to)})
            self.heard(ZkPartitionReassignment())
        elif tp is not None:
            command = AlterPartitionReassignments({tp: tuple(BrokerId(b) for b in to if b != LATE)})
            self.heard(CommandReceived(1, command))

    @rule(lot=lots)
    def a_move_is_cancelled(self, lot: int) -> None:
        tp = self.partition(lot)
        if tp is not None:
            self.heard(CommandReceived(1, AlterPartitionReassignments({tp: None})))

    @rule(lot=lots)
    def a_follower_catches_up(self, lot: int) -> None:
        tp = self.partition(lot)
        if tp is not None:
            self.catch_up(tp)

    def catch_up(self, tp: TopicPartition) -> None:
        """The first live replica that is not in sync is taken into the ISR, if anybody leads."""
        known, there = self.world.leadership(tp), self.world.context
        behind = [r for r in self.replicas(tp) if there.is_online(r, tp) and r not in known.isr]
        if behind and there.is_online(known.leader, tp):
            self.isr_becomes(tp, (*known.isr, behind[0]))

    @rule(lot=lots, unseen=st.booleans())
    def a_follower_falls_behind(self, lot: int, unseen: bool) -> None:
        """The controller hears of it, or finds it when it writes that state the next time."""
        tp = self.partition(lot)
        known = None if tp is None else self.world.leadership(tp)
        if known is not None and known.leader != -1 and len(known.isr) > 1:
            rest = tuple(r for r in known.isr if r == known.leader or r != known.isr[lot % len(known.isr)])
            if unseen:
                self.world.meanwhile = {tp: replace(known, isr=rest)}
            else:
                self.isr_becomes(tp, rest)

    def isr_becomes(self, tp: TopicPartition, isr: tuple[int, ...]) -> None:
        """The leader writes its ISR and leaves a note."""
        self.world.meanwhile = {}
        known = self.world.leadership(tp)
        self.world.write_state(tp, known.leader, isr, known.leader_epoch)
        self.world.notes["isr_change_1"] = (tp,)
        self.heard(PartitionReassignmentIsrChange((tp,)), IsrChangeNotification())

    @rule(broker=brokers)
    def a_broker_has_its_logs(self, broker: int) -> None:
        """It answers all LeaderAndIsr requests that it was sent, unless a directory has failed."""
        context, id_ = self.world.context, BrokerId(broker)
        failed = context.offline_dirs.get(id_, set())
        held = [tp for tp, _ in context.replicas_on((id_,)) if tp not in failed]
        if broker in self.world.brokers:
            response = LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys(held, ErrorCode.NONE))
            self.heard(LeaderAndIsrResponseReceived(id_, self.world.epoch_of(broker), response))

    @rule(broker=brokers, others_have_their_logs=st.booleans())
    def a_broker_is_about_to_stop(self, broker: int, others_have_their_logs: bool) -> None:
        if others_have_their_logs:
            for other in BROKERS:
                self.a_broker_has_its_logs(other)
        if broker in self.world.brokers:
            command = ControlledShutdown(BrokerId(broker), self.world.epoch_of(broker))
            self.heard(CommandReceived(1, command))

    @rule(broker=brokers, lot=lots)
    def a_directory_fails(self, broker: int, lot: int) -> None:
        tp = self.partition(lot)
        if tp is not None and broker in self.world.brokers and broker in self.replicas(tp):
            response = LeaderAndIsrResponse(ErrorCode.NONE, {tp: ErrorCode.KAFKA_STORAGE_ERROR})
            life = self.world.epoch_of(broker)
            self.heard(LeaderAndIsrResponseReceived(BrokerId(broker), life, response))

    def replicas(self, tp: TopicPartition) -> tuple[BrokerId, ...]:
        return self.world.topics[tp.topic][tp.partition].replicas

    @rule(lot=lots)
    def preferred_replicas_are_to_lead(self, lot: int) -> None:
        tp = self.partition(lot)
        self.world.preferred_election = () if tp is None else (tp, TopicPartition("ghost", 0))
        self.heard(ReplicaLeaderElection())
        assert self.world.preferred_election is None

    @rule()
    def it_is_time_to_see_who_leads(self) -> None:
        self.heard(AutoPreferredReplicaLeaderElection())

    @rule()
    def the_controller_is_elected_again(self) -> None:
        self.world.controller, self.world.owns_controller = NO_CONTROLLER, False
        self.heard(Expire(), Startup())

    @rule()
    def another_reigned_in_between(self) -> None:
        """The next write of this one is refused: it resigns in the midst of what it does."""
        self.world.epoch += 1
        self.world.controller, self.world.owns_controller = NO_CONTROLLER, False
        self.heard(TopicDeletion(), ControllerChange())

    # What must hold

    @invariant()
    def it_reigns_and_never_twice_in_one_epoch(self) -> None:
        assert self.world.context.is_active
        assert self.world.context.epoch == self.world.epoch

    @invariant()
    def leaders_are_in_sync_and_replicas(self) -> None:
        for tp, state in self.world.states.items():
            known = state.leader_and_isr
            replicas = self.replicas(tp)
            assert set(known.isr) <= set(replicas), (tp, known, replicas)
            assert known.isr, (tp, known)
            assert known.leader == -1 or known.leader in known.isr, (tp, known)

    @invariant()
    def leader_epochs_never_fall(self) -> None:
        for tp in [tp for tp in self.epochs if tp not in self.world.states]:
            del self.epochs[tp]
        for tp, state in self.world.states.items():
            epoch = state.leader_and_isr.leader_epoch
            assert epoch >= self.epochs.get(tp, 0), tp
            self.epochs[tp] = epoch

    @invariant()
    def nothing_is_written_in_a_reign_to_come(self) -> None:
        assert all(state.controller_epoch <= self.world.epoch for state in self.world.states.values())

    @invariant()
    def the_context_knows_what_stands_in_zookeeper(self) -> None:
        context = self.world.context
        assert {topic: dict(numbers) for topic, numbers in context.assignments.items()} == self.world.topics
        assert set(context.leaderships) == self.world.states.keys()
        for tp, known in context.leaderships.items():
            assert known == self.world.states[tp]
        assert context.topics_to_delete == self.world.marked
        assert context.topics_ineligible_for_deletion <= context.topics_to_delete
        assert context.topics_with_deletion_started <= context.topics_to_delete

    @invariant()
    def what_is_being_deleted_waits_for_something(self) -> None:
        """Of a queued topic an answer is awaited, or it is held by a replica that cannot go now."""
        context = self.world.context
        for topic in context.topics_to_delete - context.topics_ineligible_for_deletion:
            replicas = context.replicas(tp for tp in context.partitions() if tp.topic == topic)
            awaited = [
                r for r in replicas if context.replica_states[r] is ReplicaMachineState.DELETION_STARTED
            ]
            assert awaited, (topic, {r: context.replica_states[r] for r in replicas})

    @invariant()
    def partitions_with_a_live_isr_member_are_led(self) -> None:
        context = self.world.context
        for tp, state in context.partition_states.items():
            if state is PartitionMachineState.ONLINE and not context.is_being_deleted(tp.topic):
                leader = context.leaderships[tp].leader_and_isr.leader
                # One that is about to stop leads what nobody else can lead.
                assert leader in context.shutting_down or context.is_online(leader, tp), tp

    @invariant()
    def what_moves_waits_for_something(self) -> None:
        context = self.world.context
        for tp in map(TopicPartition._make, context.partitions()):
            assignment = context.assignment(tp)
            if assignment.is_being_reassigned and tp.topic not in context.topics_with_deletion_started:
                in_sync = set(self.world.leadership(tp).isr) if tp in self.world.states else set()
                could_lead = any(context.is_online(replica, tp) for replica in assignment.target)
                assert not (set(assignment.target) <= in_sync and could_lead), (tp, assignment, in_sync)

    def teardown(self) -> None:
        """Once every broker is back, answers and catches up, what is marked is gone and nothing moves."""
        context = self.world.context
        # One whose deletion failed on a live broker is tried again when that broker returns.
        for number in (*BROKERS, LATE, *BROKERS):
            self.world.register(number)
            self.heard(BrokerChange())
            while self.unanswered:
                self.heard(self.unanswered.popleft())
            for tp in sorted(self.world.states):
                for _ in self.replicas(tp):
                    if tp in self.world.states and tp.topic not in context.topics_with_deletion_started:
                        self.catch_up(tp)
        while self.unanswered:
            self.heard(self.unanswered.popleft())
        assert self.world.marked == set()
        assert context.topics_to_delete == set()
        assert self.world.requested is None
        assert not any(context.is_being_reassigned(topic) for topic in context.assignments)


def test_the_controller_keeps_its_promises(world_module: Any) -> None:
    machine = type("World", (Cluster,), {"world_class": world_module.World, "__module__": __name__})
    run_state_machine_as_test(
        machine,
        settings=settings(stateful_step_count=30, suppress_health_check=list(HealthCheck)),
    )
