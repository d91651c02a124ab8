"""A world in memory for the controller's core: what stands in ZooKeeper, and every effect as it comes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import (
    BrokerEpoch,
    ControllerEpoch,
    EpochVersion,
    LeaderEpoch,
    PartitionVersion,
)
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.decide import decide
from barnabas.controller.core.election.effects import (
    ContestController,
    GiveUpController,
    Lost,
    ReadController,
    RecordBrokers,
    RecordEpoch,
)
from barnabas.controller.core.leader_elections.effects import (
    DeletePreferredReplicaElection,
    ReadPreferredReplicaElection,
)
from barnabas.controller.core.partitions.effects import (
    CreatePartitionStates,
    ReadPartitionStates,
    ReadTopicConfigs,
    StatesWritten,
    WatchPartitionStates,
    WritePartitionStates,
)
from barnabas.controller.core.protocol.broker_znodes import (
    DeleteIsrChanges,
    DeleteLogDirEvents,
    IsrChanges,
    LogDirEvents,
    ReadBrokers,
    ReadIsrChanges,
    ReadLogDirEvents,
)
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    Ask,
    ControllerFence,
    Decision,
    Effect,
    Interruption,
    LogElection,
    LogInfo,
    LogStateChange,
)
from barnabas.controller.core.protocol.inputs import Input, Startup
from barnabas.controller.core.topics.effects import (
    CreateTopic,
    DeleteTopic,
    MarkTopicDeletions,
    ReadAssignments,
    ReadReassignments,
    ReadTopicDeletions,
    ReadTopics,
    RemoveTopicDeletions,
    RequestedReassignments,
    TopicRead,
    WriteAssignment,
    WriteReassignments,
)


def ids(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(BrokerId(number) for number in numbers)


@dataclass
class World:
    """ZooKeeper as one controller sees it, and a controller that sees it.

    Attributes:
        context: The controller's.
        stray: What stands in ``/controller`` where that is nobody's election.
        record: The recorded broker epochs.
        identities: What tells a topic from others of its name; of some of the topics.
        effects: Every effect so far that is no question.
        questions: Every question so far.
        failures: Errors that are raised instead of answers, each time a question of that kind is asked.
        interruptions: Answers that come instead of the next answer to a question of that kind.
        requested: What stands in ``/admin/reassign_partitions``, under which version.
        preferred_election: What stands in ``/admin/preferred_replica_election``; None where nothing does.
        log_dir_events: The notes of brokers of which a log directory has failed.
        marked: The topics marked in ``/admin/delete_topics``.
        answers: How questions of other kinds are answered.
        meanwhile: What a partition's leader writes just before the controller's next write of that partition.
        scribe: Told every effect with its answer, in order.
    """

    context: ControllerContext
    controller: BrokerId = NO_CONTROLLER
    epoch: int = 0
    brokers: dict[BrokerId, Broker] = field(default_factory=dict)
    topics: dict[str, dict[int, Assignment]] = field(default_factory=dict)
    identities: dict[str, TopicIdentity] = field(default_factory=dict)
    states: dict[TopicPartition, PartitionState] = field(default_factory=dict)
    record: dict[BrokerId, BrokerEpoch] = field(default_factory=dict)
    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    notes: dict[str, tuple[TopicPartition, ...]] = field(default_factory=dict)
    requested: RequestedReassignments | None = None
    preferred_election: tuple[TopicPartition, ...] | None = None
    log_dir_events: dict[str, BrokerId] = field(default_factory=dict)
    marked: set[str] = field(default_factory=set)
    answers: dict[type[Ask[Any]], Callable[[Any], object]] = field(default_factory=dict)
    owns_controller: bool = False
    stray: Claim | None = None
    effects: list[Effect] = field(default_factory=list)
    questions: list[Ask[Any]] = field(default_factory=list)
    failures: dict[type[Ask[Any]], Exception] = field(default_factory=dict)
    interruptions: dict[type[Ask[Any]], Interruption] = field(default_factory=dict)
    meanwhile: dict[TopicPartition, LeaderAndIsr] = field(default_factory=dict)
    scribe: Callable[[Effect, object], None] = lambda effect, answer: None
    _zxid: int = 100

    def register(self, *numbers: int, rack: str | None = None) -> None:
        for number in numbers:
            endpoints = (Endpoint("PLAINTEXT", f"b{number}", 9092), Endpoint("GRPC", f"b{number}", 19092))
            id_ = BrokerId(number)
            self.brokers[id_] = Broker(id_, BrokerEpoch(self._transaction()), endpoints, rack)

    def settle(self) -> None:
        """As a controller that has dealt with every registration."""
        self.record = {id_: broker.epoch for id_, broker in self.brokers.items()}

    def epoch_of(self, number: int) -> BrokerEpoch:
        return self.brokers[BrokerId(number)].epoch

    def remove(self, *numbers: int) -> None:
        for number in numbers:
            del self.brokers[BrokerId(number)]

    def write_topic(self, name: str, *replicas: tuple[int, ...]) -> None:
        self.topics[name] = {number: Assignment(ids(*some)) for number, some in enumerate(replicas)}

    def ask_for(self, **moves: tuple[int, ...]) -> None:
        """As the tool of old: ``t_0=(4, 5)`` asks for partition t-0 on brokers 4 and 5."""
        targets = {}
        for name, replicas in moves.items():
            topic, _, number = name.rpartition("_")
            targets[TopicPartition(topic, int(number))] = ids(*replicas)
        self.requested = RequestedReassignments(targets, 0)

    def write_state(self, tp: TopicPartition, leader: int, isr: tuple[int, ...], epoch: int = 0) -> None:
        """As the partition's leader, or somebody else, would."""
        old = self.states.get(tp)
        version = PartitionVersion(old.leader_and_isr.version + 1 if old else 0)
        by = old.controller_epoch if old else ControllerEpoch(max(self.epoch, 1))
        self.states[tp] = PartitionState(
            LeaderAndIsr(BrokerId(leader), LeaderEpoch(epoch), ids(*isr), version), by
        )

    def run(self, *inputs: Input) -> list[Effect]:
        """Have each input decided and performed; the effects that are no questions."""
        before = len(self.effects)
        for happened in inputs:
            self.drive(decide(self.context, happened))
        return self.effects[before:]

    def drive(self, decision: Decision[Any]) -> Any:
        """Perform a decision, or a part of one, to its result."""
        answer: object = None
        while True:
            try:
                failed = isinstance(answer, Exception)
                effect = decision.throw(answer) if failed else decision.send(answer)
            except StopIteration as end:
                return end.value
            if isinstance(effect, Ask):
                self.questions.append(effect)
                interruption = self.interruptions.pop(type(effect), None)
                if interruption is not None:
                    answer = interruption
                else:
                    answer = self.failures.get(type(effect)) or self.answer(effect)
            else:
                answer = None
                self.effects.append(effect)
            self.scribe(effect, answer)

    def _transaction(self) -> int:
        self._zxid += 1
        return self._zxid

    def answer(self, question: Ask[Any]) -> object:
        fence = getattr(question, "fence", None)
        if fence is not None and fence != ControllerFence(
            ControllerEpoch(self.epoch), EpochVersion(self.epoch)
        ):
            return Interruption.CONTROLLER_MOVED
        if type(question) in self.answers:
            return self.answers[type(question)](question)
        match question:
            case ReadController():
                return Controllership(self.claim, ControllerEpoch(self.epoch))
            case ContestController(seen, above):
                return self._contest(seen, above)
            case GiveUpController():
                if self.owns_controller:
                    self.controller, self.owns_controller = NO_CONTROLLER, False
                return None
            case ReadBrokers():
                return dict(self.brokers)
            case ReadTopics():
                return frozenset(self.topics)
            case ReadAssignments(topics):
                return {
                    topic: TopicRead(dict(self.topics[topic]), self.identities.get(topic))
                    for topic in topics
                    if topic in self.topics
                }
            case ReadPartitionStates(tps):
                return {tp: self.states[tp] for tp in tps if tp in self.states}
            case ReadTopicConfigs(topics):
                return {topic: self.configs.get(topic, {}) for topic in topics}
        return self._read_notes(question)

    def _read_notes(self, question: Ask[Any]) -> object:
        match question:
            case ReadIsrChanges():
                named = dict.fromkeys(tp for tps in self.notes.values() for tp in tps)
                return IsrChanges(tuple(self.notes), tuple(named))
            case ReadPreferredReplicaElection():
                return self.preferred_election
            case ReadLogDirEvents():
                brokers = dict.fromkeys(self.log_dir_events.values())
                return LogDirEvents(tuple(self.log_dir_events), tuple(brokers))
        return self._write(question)

    @property
    def claim(self) -> Claim | None:
        """What stands in ``/controller``."""
        if self.stray is not None or self.controller == NO_CONTROLLER:
            return self.stray
        return Claim(self.controller, Owner.THIS_SESSION if self.owns_controller else Owner.NAMED_BROKER, 0)

    def _contest(self, seen: Claim | None, above: ControllerEpoch) -> ControllerFence | Lost:
        if self.claim != seen:
            return Lost()
        self.stray = None
        self.controller, self.owns_controller = self.context.facts.broker_id, True
        self.epoch = max(self.epoch, above) + 1
        return ControllerFence(ControllerEpoch(self.epoch), EpochVersion(self.epoch))

    def _write(self, question: Ask[Any]) -> object:
        match question:
            case WritePartitionStates(states, _):
                return self._write_states(states)
            case CreatePartitionStates(states, _):
                return {tp: self._create_state(tp, state) for tp, state in states.items()}
            case CreateTopic(name, assignments, configs, _):
                if name in self.topics:
                    return False
                self.topics[name], self.configs[name] = dict(assignments), dict(configs)
                return True
            case RecordEpoch(_):
                return dict(self.record)
            case RecordBrokers(broker_epochs, _):
                self.record = dict(broker_epochs)
                return None
            case DeleteIsrChanges(notes, _):
                for note in notes:
                    self.notes.pop(note, None)
                return None
            case DeletePreferredReplicaElection(_):
                self.preferred_election = None
                return None
            case DeleteLogDirEvents(notes, _):
                for note in notes:
                    self.log_dir_events.pop(note, None)
                return None
        return self.answer_reassignment(question)

    def answer_reassignment(self, question: Ask[Any]) -> object:
        match question:
            case ReadReassignments():
                return self.requested
            case WatchPartitionStates(tps):
                return self.answer(ReadPartitionStates(tps))
            case WriteAssignment(topic, before, after, _):
                if self.topics.get(topic) != dict(before):
                    return False
                self.topics[topic] = dict(after)
                return True
            case WriteReassignments(targets, version, _):
                if self.requested is None or self.requested.version != version:
                    return False
                left = RequestedReassignments(targets, version + 1)
                self.requested = left if targets else None
                return True
        return self.answer_deletion(question)

    def answer_deletion(self, question: Ask[Any]) -> object:
        match question:
            case ReadTopicDeletions():
                return frozenset(self.marked)
            case MarkTopicDeletions(topics, _):
                self.marked.update(topics)
                return None
            case RemoveTopicDeletions(topics, _):
                self.marked.difference_update(topics)
                return None
            case DeleteTopic(topic, _):
                self.topics.pop(topic, None)
                self.configs.pop(topic, None)
                self.marked.discard(topic)
                for tp in [tp for tp in self.states if tp.topic == topic]:
                    del self.states[tp]
                return None
        raise AssertionError(f"this world has no answer to {question}")

    def _create_state(self, tp: TopicPartition, state: PartitionState) -> str | None:
        if tp in self.states:
            return "NodeExists"
        self.states[tp] = state
        return None

    def _write_states(self, states: Mapping[TopicPartition, PartitionState]) -> StatesWritten:
        versions: dict[TopicPartition, PartitionVersion] = {}
        conflicts: set[TopicPartition] = set()
        failures: dict[TopicPartition, str] = {}
        for tp, state in states.items():
            if tp in self.meanwhile:
                other = self.meanwhile.pop(tp)
                self.write_state(tp, other.leader, other.isr, other.leader_epoch)
            standing = self.states.get(tp)
            if standing is None:
                failures[tp] = "NoNode"
            elif standing.leader_and_isr.version != state.leader_and_isr.version:
                conflicts.add(tp)
            else:
                versions[tp] = PartitionVersion(state.leader_and_isr.version + 1)
                written = state.leader_and_isr.written_as(versions[tp])
                self.states[tp] = replace(state, leader_and_isr=written)
        return StatesWritten(versions, frozenset(conflicts), failures)

    # What the tests ask for

    def sent(
        self, kind: type[Any] | tuple[type[Any], ...], some: Iterable[Effect] | None = None
    ) -> list[Any]:
        """The effects of one kind or several, of ``some`` or of all so far."""
        return [effect for effect in (self.effects if some is None else some) if isinstance(effect, kind)]

    def reasons(self, some: Iterable[Effect] | None = None) -> list[str]:
        said = self.sent((LogInfo, LogElection), some)
        return [effect.line if isinstance(effect, LogInfo) else str(effect) for effect in said]

    def lines(self, some: Iterable[Effect] | None = None) -> list[str]:
        return [effect.line.message for effect in self.sent(LogStateChange, some)]

    def leadership(self, tp: TopicPartition) -> LeaderAndIsr:
        return self.states[tp].leader_and_isr


MakeWorld = Callable[..., World]


@pytest.fixture
def make_world() -> MakeWorld:
    """Makes a world with brokers, of which the one named has the controller under test."""

    def make(*brokers: int, controller: int = 1, active: bool = True, **facts: Any) -> World:
        world = World(ControllerContext(Facts(BrokerId(controller), **facts)))
        world.register(*(brokers or (1, 2, 3)))
        world.settle()
        if active:
            world.run(Startup())
            world.effects.clear()
            world.questions.clear()
        return world

    return make
