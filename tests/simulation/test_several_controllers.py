"""Several controllers over one ZooKeeper, their decisions interleaved question by question, in any order.

A broker that is not stepped is paused, wherever in a decision it is: what it decides when it wakes up comes
from another time. Whatever happens, the invariants hold; and once everything was heard and dealt with, the
cluster has one controller, and leaders wherever it can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.cluster.model.controllership import Claim, Owner
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.decide import decide
from barnabas.controller.core.election.effects import ContestController, GiveUpController, ScheduleReelection
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    NO_FENCE,
    Ask,
    ControllerFence,
    Decision,
    Effect,
    Interruption,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    ControllerChange,
    Expire,
    Input,
    Reelect,
    Startup,
    TopicChange,
)

IDS = (1, 2, 3)
ids = st.sampled_from(IDS)
TURNS = 10_000
"""Far more than the interleaved decisions of a few events take: whoever needs more goes in circles."""


@dataclass
class Process:
    """One life of one broker, with its controller.

    Attributes:
        session: Its number; each session of each life has another.
        waiting: Its mailbox.
        work: The decision under way.
        question: What that has asked last, unanswered.
        is_reminded: Whether it is to look at the race again after a pause.
        is_expired: Whether its session is over and it has not dealt with that.
        gate: What its replicas go by.
    """

    context: ControllerContext
    session: int = 0
    waiting: list[Input] = field(default_factory=list)
    work: Decision[None] | None = None
    question: Ask[Any] | None = None
    is_expired: bool = False
    is_reminded: bool = False
    gate: ControlGate = field(default_factory=ControlGate)

    def hear(self, happened: Input) -> None:
        if happened not in self.waiting:
            self.waiting.append(happened)

    @property
    def is_idle(self) -> bool:
        return self.work is None and not self.waiting


class Controllers(RuleBasedStateMachine):
    """Brokers 1, 2 and 3, and what becomes of them."""

    world_class: Any

    def __init__(self) -> None:
        super().__init__()
        self.world = self.world_class(ControllerContext(Facts(BrokerId(0))))
        self.processes: dict[int, Process] = {}
        self.sessions: dict[int, int] = {}
        self.owner: int | None = None
        self.last_session = 0
        self.reigns: dict[int, int] = {}
        self.leader_epochs: dict[TopicPartition, int] = {}
        self.leaders: dict[tuple[TopicPartition, int], int] = {}
        self.lives: dict[tuple[TopicPartition, int], int] = {}

    @initialize(replicas=st.permutations(IDS), count=st.integers(2, 3))
    def a_cluster_at_rest(self, replicas: list[int], count: int) -> None:
        for broker in IDS:
            self.start(broker)
        self.make_a_topic(replicas, count, 2)
        self.all_goes_on_until_nothing_is_left_to_do()

    # What happens

    @rule(broker=ids)
    def start(self, broker: int) -> None:
        """A broker starts; a former life whose session still stands makes way for it, with its node."""
        if broker in self.processes:
            return
        self._end_session(broker)
        self.processes[broker] = Process(ControllerContext(Facts(BrokerId(broker), traces=False)))
        self._join(broker)

    @rule(broker=ids)
    def kill(self, broker: int) -> None:
        """SIGKILL: its session stands until it is let go."""
        self.processes.pop(broker, None)

    @rule(broker=ids)
    def bounce(self, broker: int) -> None:
        """It is killed and back before anybody has looked."""
        if broker in self.processes:
            self.kill(broker)
            self.start(broker)

    @rule(broker=ids)
    def let_a_session_of_the_dead_expire(self, broker: int) -> None:
        self._bury(broker)

    @rule(broker=ids)
    def expire(self, broker: int) -> None:
        """The session of a broker that lives, and may be paused, expires."""
        process = self.processes.get(broker)
        if process is not None and not process.is_expired:
            self._end_session(broker)
            process.is_expired = True
            process.waiting = [Expire()]

    @rule(replicas=st.permutations(IDS), count=st.integers(1, 3), partitions=st.integers(1, 2))
    def make_a_topic(self, replicas: list[int], count: int, partitions: int) -> None:
        if len(self.world.topics) < 2:
            name = f"t{len(self.world.topics)}"
            self.world.write_topic(name, *[tuple(replicas[:count])] * partitions)
            self._tell(TopicChange())

    @rule(data=st.data())
    def a_leader_writes_its_isr(self, data: st.DataObject) -> None:
        """In conflict with whatever a controller has in mind."""
        led = [tp for tp, s in self.world.states.items() if s.leader_and_isr.leader in self.processes]
        if not led:
            return
        tp = data.draw(st.sampled_from(sorted(led)))
        known = self.world.leadership(tp)
        live = set(self.processes) & set(self.sessions)
        others = [r for r in self.world.topics[tp.topic][tp.partition].replicas if r != known.leader]
        able = [r for r in others if r in live or r in known.isr]
        members = data.draw(st.lists(st.sampled_from(able), unique=True)) if able else []
        self.world.write_state(tp, known.leader, (known.leader, *members), known.leader_epoch)

    @rule(named=st.none() | st.sampled_from((1, 2, 3, 77)))
    def lay_hands_on_the_node(self, named: int | None) -> None:
        """A person replaces ``/controller`` by one of his own, kept by no session."""
        self._free_node()
        self.world.stray = Claim(None if named is None else BrokerId(named), Owner.NOBODY, 0)
        self._tell(ControllerChange())

    @rule()
    def delete_the_node(self) -> None:
        self._free_node()
        self.world.stray = None
        self._tell(ControllerChange())

    @rule(broker=ids, times=st.integers(1, 12))
    def step(self, broker: int, times: int) -> None:
        """A broker goes on for a while; the others are paused."""
        for _ in range(times):
            process = self.processes.get(broker)
            if process is not None:
                self._step(broker, process)

    @rule()
    def all_goes_on_until_nothing_is_left_to_do(self) -> None:
        """The sessions of the dead expire, nobody is paused any more."""
        for broker in IDS:
            self._bury(broker)
        for _ in range(TURNS):
            busy = [(b, p) for b, p in self.processes.items() if not p.is_idle]
            if not busy:
                busy = [(b, p) for b, p in self.processes.items() if p.is_reminded]
                for _, process in busy:
                    process.is_reminded = False
                    process.hear(Reelect())
            if not busy:
                break
            for broker, process in busy:
                self._step(broker, process)
        else:
            pytest.fail(f"still busy after {TURNS} rounds")
        self._check_rest()

    # What always holds

    @invariant()
    def no_two_act_in_one_reign(self) -> None:
        acting = [p.context.epoch for p in self.processes.values() if p.context.is_active]
        assert len(set(acting)) == len(acting)

    @invariant()
    def leaders_are_in_sync_and_assigned(self) -> None:
        for tp, state in self.world.states.items():
            known, replicas = state.leader_and_isr, self.world.topics[tp.topic][tp.partition].replicas
            assert known.isr
            assert set(known.isr) <= set(replicas)
            assert known.leader in (NO_LEADER, *known.isr)

    @invariant()
    def no_epoch_falls(self) -> None:
        for tp, state in self.world.states.items():
            epoch = state.leader_and_isr.leader_epoch
            assert epoch >= self.leader_epochs.get(tp, 0)
            self.leader_epochs[tp] = epoch
            leader = state.leader_and_isr.leader
            assert self.leaders.setdefault((tp, epoch), leader) == leader, "two leaders in one epoch"
            assert state.controller_epoch <= self.world.epoch

    # How

    def _step(self, broker: int, process: Process) -> None:
        """Answer what its decision has asked, or begin with its next entry; go on to the next question."""
        answer: object = None
        if process.work is None:
            if not process.waiting:
                return
            happened = process.waiting.pop(0)
            process.work = decide(process.context, happened)
            if isinstance(happened, Expire):
                process.is_expired = False
                self._run(process, None)
                assert process.work is None, "resigning asks ZooKeeper nothing"
                self._join(broker)
                return
        elif process.question is not None:
            answer = self._answer(broker, process, process.question)
        self._run(process, answer)

    def _run(self, process: Process, answer: object) -> None:
        assert process.work is not None
        process.question = None
        try:
            effect = process.work.send(answer)
            while not isinstance(effect, Ask):
                if isinstance(effect, ScheduleReelection):
                    process.is_reminded = True
                self._perform(effect)
                effect = process.work.send(None)
            process.question = effect
        except StopIteration:
            process.work = None

    def _answer(self, broker: int, process: Process, question: Ask[Any]) -> object:
        if process.is_expired:
            return Interruption.SESSION_EXPIRED
        world = self.world
        shown = getattr(question, "fence", NO_FENCE)
        assert shown == process.context.fence or not hasattr(question, "fence"), "a write in another's name"
        if isinstance(question, ContestController):
            assert not process.context.brokers, "it takes over what it has not forgotten"
            assert process.context.fence == NO_FENCE
        before = dict(world.states)
        world.context, world.owns_controller = process.context, self.owner == process.session
        answer = world.answer(question)
        if isinstance(answer, ControllerFence):
            self.owner = process.session
            assert self.reigns.setdefault(answer.epoch, broker) == broker
            self._tell(ControllerChange())
        elif isinstance(question, GiveUpController) and self.owner == process.session:
            self.owner = None
            self._tell(ControllerChange())
        if world.states != before:
            assert shown.epoch == world.epoch, "written under a fence that is over"
        return answer

    def _perform(self, effect: Effect) -> None:
        """Carry a request to its broker at once, which refuses controller epochs below its latest."""
        for receiver, request in _requests(effect):
            process = self.processes.get(receiver)
            if process is not None:
                latest = process.gate.controller_epoch
                refusal = process.gate.judge(request.controller_epoch, request.broker_epoch)
                assert refusal is not None or request.controller_epoch >= latest

    def _join(self, broker: int) -> None:
        """A new session, and a registration in it."""
        process = self.processes[broker]
        self.last_session += 1
        process.session = self.sessions[broker] = self.last_session
        self.world.register(broker)
        process.waiting = []
        process.hear(Startup())
        self._tell(BrokerChange())

    def _bury(self, broker: int) -> None:
        if broker not in self.processes:
            self._end_session(broker)

    def _end_session(self, broker: int) -> None:
        session = self.sessions.pop(broker, None)
        if session is None:
            return
        self.world.remove(broker)
        self._tell(BrokerChange())
        if self.owner == session:
            self._free_node()
            self._tell(ControllerChange())

    def _free_node(self) -> None:
        self.owner, self.world.controller = None, NO_CONTROLLER

    def _tell(self, happened: Input) -> None:
        for process in self.processes.values():
            if not process.is_expired:
                process.hear(happened)

    def _check_rest(self) -> None:
        """All was heard and dealt with: one controller, and leaders wherever there can be one."""
        if not self.processes:
            return
        (active,) = [b for b, p in self.processes.items() if p.context.is_active]
        assert self.world.controller == active
        assert self.world.stray is None
        assert all(p.context.active_controller_id == active for p in self.processes.values())
        context = self.processes[active].context
        assert context.epoch == self.world.epoch
        assert context.brokers == self.world.brokers
        for tp in context.partitions():
            online = set(context.online_replicas(tp))
            state = self.world.states.get(tp)
            assert state is not None or not online
            if state is not None:
                known = state.leader_and_isr
                assert known.leader in online or not online & set(known.isr)
                if known.leader in online:
                    life = self.world.epoch_of(known.leader)
                    seen = self.lives.setdefault((tp, known.leader_epoch), life)
                    assert seen == life, "a leader leads on in an epoch in which it bounced"


def _requests(effect: Effect) -> Iterator[tuple[int, Any]]:
    match effect:
        case SendLeaderAndIsr(broker, request) | SendStopReplica(broker, request):
            yield broker, request
        case SendUpdateMetadata(recipients, request):
            yield from ((broker, request) for broker in recipients)


def test_whatever_happens_there_is_one_controller_in_the_end(world_module: Any) -> None:
    """KAFKA-4229, KAFKA-13407: after losses of sessions a broker owned the node and ran no controller."""
    machine = type("Machine", (Controllers,), {"world_class": world_module.World, "__module__": __name__})
    run_state_machine_as_test(machine, settings=settings(stateful_step_count=20))
