"""One partition moved about while brokers die and controllers are lost at any question, in any order."""

from __future__ import annotations

from types import ModuleType

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.partitions.effects import WatchPartitionStates, WritePartitionStates
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, Interruption, SendStopReplica
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    Expire,
    PartitionReassignmentIsrChange,
    Startup,
    ZkPartitionReassignment,
)
from barnabas.controller.core.topics.effects import WriteAssignment, WriteReassignments

T0 = TopicPartition("t", 0)
ALL = range(1, 7)
targets = st.lists(st.sampled_from(ALL), min_size=2, max_size=3, unique=True).map(tuple)
LOST_AT = (
    WritePartitionStates,
    WriteAssignment,
    WatchPartitionStates,
    WriteReassignments,
)
losses = st.none() | st.tuples(st.sampled_from(LOST_AT), st.booleans())


class MovingPartition(RuleBasedStateMachine):
    """The world of the core's tests, in which followers fetch and brokers obey.

    A replica that leaves the ISR, or is deleted, has lost its claim to hold every record; it has it again
    when its leader takes it back.
    """

    world_module: ModuleType

    @initialize()
    def begin(self):
        self.world = self.world_module.World(ControllerContext(Facts(BrokerId(1), traces=False)))
        self.world.register(*ALL)
        self.world.write_topic("t", (1, 2, 3))
        self.world.write_state(T0, 1, (1, 2, 3))
        self.world.run(Startup())
        self.epoch = 0
        self.whole = {1, 2, 3}

    def happens(self, happened, loss=None):
        """One input, at one question of which the controller may be lost, before or after its deed."""
        world = self.world
        before = len(world.effects)
        if loss is not None:
            self.lose(*loss)
        world.run(happened)
        was_lost = loss is not None and not self.spared(loss[0])
        self.obey(before)
        if was_lost:
            before = len(world.effects)
            world.controller, world.owns_controller = NO_CONTROLLER, False
            world.run(Expire(), Startup())
            self.obey(before)

    def lose(self, kind, after):
        world = self.world
        if not after:
            world.interruptions[kind] = Interruption.SESSION_EXPIRED
            return

        def carry_out_and_lose(question):
            del world.answers[kind]
            world.answer(question)
            return Interruption.SESSION_EXPIRED

        world.answers[kind] = carry_out_and_lose

    def spared(self, kind):
        """Whether nothing of that kind was asked; it may be asked safely from now on."""
        armed = self.world.interruptions.pop(kind, None), self.world.answers.pop(kind, None)
        return armed != (None, None)

    def obey(self, since):
        """The brokers do what they were told since; a deleted log holds nothing."""
        for effect in self.world.effects[since:]:
            if isinstance(effect, SendStopReplica) and any(p.delete for p in effect.request.partitions):
                self.whole.discard(effect.broker_id)
        self.whole &= set(self.world.leadership(T0).isr)

    @rule(to=targets, loss=losses)
    def reassign(self, to, loss):
        request = AlterPartitionReassignments({T0: to})
        self.happens(CommandReceived(1, request), loss)

    @rule(to=targets, loss=losses)
    def reassign_by_znode(self, to, loss):
        self.world.ask_for(t_0=to)
        self.happens(ZkPartitionReassignment(), loss)

    @rule(loss=losses)
    def cancel(self, loss):
        self.happens(CommandReceived(2, AlterPartitionReassignments({T0: None})), loss)

    @rule(loss=losses, lot=st.integers(0, 5))
    def catch_up_some(self, lot, loss):
        behind = [b for b in self.world.topics["t"][0].replicas if b not in self.world.leadership(T0).isr]
        if behind:
            self.catch_up(behind[lot % len(behind)], loss)

    def catch_up(self, who, loss):
        known = self.world.leadership(T0)
        told = self.world.topics["t"][0].replicas
        live = self.world.brokers
        if known.leader in live and who in live and who in told and who not in known.isr:
            self.whole.add(who)
            self.world.write_state(T0, known.leader, (*known.isr, who), known.leader_epoch)
            self.happens(PartitionReassignmentIsrChange((T0,)), loss)

    @rule(loss=losses, lot=st.integers(0, 5))
    def fall_behind(self, lot, loss):
        known = self.world.leadership(T0)
        who = known.isr[lot % len(known.isr)]
        if known.leader in self.world.brokers and who in known.isr and who != known.leader:
            rest = tuple(member for member in known.isr if member != who)
            self.whole.discard(who)
            self.world.write_state(T0, known.leader, rest, known.leader_epoch)
            self.happens(PartitionReassignmentIsrChange((T0,)), loss)

    @precondition(lambda self: len(self.world.brokers) > 2)
    @rule(loss=losses, who=st.sampled_from(ALL))
    def die(self, who, loss):
        if who in self.world.brokers:
            self.world.remove(who)
            self.happens(BrokerChange(), loss)

    @rule(loss=losses, who=st.sampled_from(ALL))
    def come_back(self, who, loss):
        if who not in self.world.brokers:
            self.world.register(who)
            self.happens(BrokerChange(), loss)

    @rule(loss=losses, lot=st.integers(0, 5))
    def outlive_the_others(self, lot, loss):
        """All other brokers die and come back: one of the ISR leads, alone in sync."""
        isr = self.world.leadership(T0).isr
        who = isr[lot % len(isr)]
        if who in self.world.brokers:
            others = [broker for broker in self.world.brokers if broker != who]
            self.world.remove(*others)
            self.happens(BrokerChange(), loss)
            self.world.register(*others)
            self.happens(BrokerChange())

    @rule(loss=losses)
    def a_new_replica_outlives_the_old_ones(self, loss):
        """Its records are all there is, while the reassignment still waits for another one."""
        adding = [b for b in self.world.topics["t"][0].adding if b in self.world.brokers]
        if adding:
            self.catch_up(adding[0], None)
        isr = self.world.leadership(T0).isr
        if adding and adding[0] in isr:
            self.outlive_the_others(isr.index(adding[0]), loss)

    @invariant()
    def the_leader_is_in_sync_and_all_in_sync_are_assigned(self):
        if not hasattr(self, "world"):
            return
        known = self.world.leadership(T0)
        assert known.isr
        assert known.leader == -1 or known.leader in known.isr
        assert set(known.isr) <= set(self.world.topics["t"][0].replicas)

    @invariant()
    def no_record_is_lost(self):
        if hasattr(self, "world"):
            assert set(self.world.leadership(T0).isr) <= self.whole, "an ISR member's log was deleted"

    @invariant()
    def the_leader_epoch_never_falls(self):
        if hasattr(self, "world"):
            assert self.world.leadership(T0).leader_epoch >= self.epoch
            self.epoch = self.world.leadership(T0).leader_epoch

    @invariant()
    def memory_and_zookeeper_agree(self):
        if hasattr(self, "world"):
            assert self.world.context.assignment(T0) == self.world.topics["t"][0]

    def teardown(self):
        """Once all brokers are back and every follower has caught up, whatever was begun is done."""
        if not hasattr(self, "world"):
            return
        for broker in ALL:
            self.come_back(broker, None)
        for _ in range(2):
            for broker in ALL:
                self.catch_up(broker, None)
                self.no_record_is_lost()
        assignment = self.world.topics["t"][0]
        assert not assignment.is_being_reassigned
        assert set(self.world.leadership(T0).isr) == set(assignment.replicas)
        assert self.world.requested is None


def test_a_partition_survives_being_moved_about(world_module):
    class Here(MovingPartition):
        pass

    Here.world_module = world_module
    quietly = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
    run_state_machine_as_test(
        Here,
        settings=settings(stateful_step_count=20, suppress_health_check=quietly),
    )
