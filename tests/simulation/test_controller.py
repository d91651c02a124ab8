"""The controller's core in a cluster where brokers come and go and topics are made, extended and deleted.

Hypothesis chooses what happens, and in which order the brokers answer; after each step it is looked whether
what must never happen has happened. Other rooms add rules.
"""

from __future__ import annotations

from collections import deque
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

from cluster.model.epochs import ControllerEpoch
from cluster.model.errors import ErrorCode
from cluster.model.ids import BrokerId, TopicPartition
from cluster.model.partition import Assignment
from controller.core import effects
from controller.core.effects import NO_CONTROLLER
from controller.core.inputs import (
    BrokerChange,
    ControllerChange,
    Expire,
    PartitionModifications,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
)
from controller.core.machines import PartitionMachineState, ReplicaMachineState
from controller.core.state import ControllerContext, Facts

BROKERS = range(1, 5)
TOPICS = ("t", "u")
topics, brokers = st.sampled_from(TOPICS), st.sampled_from(BROKERS)


class Cluster(RuleBasedStateMachine):
    """One controller, on broker 1, in a world of four brokers and two topics."""

    world_class: Any = None

    def __init__(self) -> None:
        super().__init__()
        self.world = self.world_class(ControllerContext(Facts(BrokerId(1))))
        self.world.register(*BROKERS)
        self.unanswered: deque[TopicDeletionStopReplicaResponseReceived] = deque()
        self.epochs: dict[TopicPartition, int] = {}
        self.reigns: set[ControllerEpoch] = set()
        self.heard(Startup())

    def heard(self, *inputs: Any) -> None:
        """The controller handles what it heard; what it asks of brokers waits for their answer."""
        for effect in self.world.run(*inputs):
            if isinstance(effect, effects.SendStopReplica):
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

    @rule(topic=topics)
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
            replicas = self.world.topics[tp.topic][tp.partition].replicas
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
                assert context.is_online(context.leaderships[tp].leader_and_isr.leader, tp), tp

    def teardown(self) -> None:
        """Once every broker is back and answers, every marked topic is gone."""
        missing = [n for n in BROKERS if BrokerId(n) not in self.world.brokers]
        self.world.register(*missing)
        self.heard(BrokerChange())
        # One whose deletion failed on a live broker is tried again when that broker returns.
        for number in BROKERS:
            while self.unanswered:
                self.heard(self.unanswered.popleft())
            self.world.register(number)
            self.heard(BrokerChange())
        while self.unanswered:
            self.heard(self.unanswered.popleft())
        assert self.world.marked == set()
        assert self.world.context.topics_to_delete == set()


def test_the_controller_keeps_its_promises(world_module: Any) -> None:
    machine = type("World", (Cluster,), {"world_class": world_module.World, "__module__": __name__})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
