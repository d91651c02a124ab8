"""The session expires in the middle of whatever the controller does: it survives, and nothing is left half.

The next fence finds in ZooKeeper what the last one had written by then, and finishes it.
"""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.cluster.model.commands.configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.commands.topics import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    NewPartitions,
    NewTopic,
)
from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.decide import EVENTS, kind_of
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, Ask, Interruption, Reply
from barnabas.controller.core.protocol.inputs import (
    BrokerModifications,
    CommandReceived,
    Draw,
    Expire,
    Input,
    LeaderAndIsrResponseReceived,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    Startup,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateMetadataResponseReceived,
)

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)
LIFE = BrokerEpoch(101)
TWO, FOUR = BrokerId(2), BrokerId(4)

SAMPLES: tuple[Input, ...] = (
    BrokerModifications(TWO),
    PartitionModifications("t"),
    PartitionReassignmentIsrChange((T0,)),
    TopicUncleanLeaderElectionEnable("t"),
    UncleanLeaderElectionEnable(enabled=True),
    CommandReceived(7, CreateTopics((NewTopic("new", 2, 2),)), (Draw(0, 0),)),
    CommandReceived(7, CreatePartitions((NewPartitions("t", 3),))),
    CommandReceived(7, DeleteTopics(("t",))),
    CommandReceived(7, ControlledShutdown(TWO, BrokerEpoch(10**6))),
    CommandReceived(7, AlterConfigs({})),
    CommandReceived(7, IncrementalAlterConfigs({})),
    CommandReceived(7, AlterPartitionReassignments({T1: (TWO, FOUR)})),
    CommandReceived(7, ListPartitionReassignments()),
    CommandReceived(7, ElectLeaders(ElectionType.PREFERRED, (T0, T1))),
    LeaderAndIsrResponseReceived(
        TWO, LIFE, LeaderAndIsrResponse(ErrorCode.NONE, {T0: ErrorCode.KAFKA_STORAGE_ERROR})
    ),
    UpdateMetadataResponseReceived(TWO, BrokerEpoch(102), UpdateMetadataResponse(ErrorCode.NONE)),
    TopicDeletionStopReplicaResponseReceived(TWO, LIFE, {U0: ErrorCode.NONE}),
)
"""An input of each kind that has something to say; the others say only "look again"."""


@pytest.fixture
def make_busy(world_module: Any) -> Any:
    """Makes a world whose controller reigns, and in which much has happened that it has not heard of yet."""

    class Expiring(world_module.World):  # type: ignore[misc]  # loaded by its path
        """Its session is over from the ``last`` question on; None where it lives."""

        last: int | None = None

        def answer(self, question: Ask[Any]) -> object:
            if self.last is not None and len(self.questions) >= self.last:
                return Interruption.SESSION_EXPIRED
            return super().answer(question)

    def make() -> Any:
        world = Expiring(ControllerContext(Facts(BrokerId(1))))
        world.register(1, 2, 3, 4)
        world.write_topic("t", (2, 3, 1), (3, 1))
        world.write_topic("u", (2, 1))
        world.run(Startup())
        created = LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys((T0, T1, U0), ErrorCode.NONE))
        world.run(LeaderAndIsrResponseReceived(BrokerId(1), world.epoch_of(1), created))
        world.remove(3)
        world.register(2)
        world.write_topic("made", (4, 1))
        world.topics["t"][2] = Assignment((FOUR, BrokerId(1)))
        world.marked.add("u")
        world.write_state(T0, 2, (2, 1), 0)
        world.notes["isr_change_1"] = (T0,)
        world.log_dir_events["log_dir_event_1"] = FOUR
        world.ask_for(t_1=(1, 4))
        world.preferred_election = (T0, T1)
        world.effects.clear()
        world.questions.clear()
        return world

    return make


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_an_expiry_during_any_event_costs_the_controllership_and_nothing_else(
    make_busy: Any, kind: type[Input]
) -> None:
    """KAFKA-14887: what an expiry interrupted took it for fatal, and the broker went down."""
    happened = next((sample for sample in SAMPLES if kind_of(sample) is kind), None) or kind()
    calm = make_busy()
    calm.run(happened)
    for last in range(1, len(calm.questions) + 1):
        world = make_busy()
        world.last = last
        world.run(happened)
        replies = world.sent(Reply)
        assert len(replies) == isinstance(happened, CommandReceived), "whoever asked hears once"
        world.run(Expire())
        assert len(world.questions) == last, "a session that is over is asked nothing more"
        assert not world.context.is_active
        assert not world.context.brokers
        assert not world.context.assignments
        next_reign(world)


def next_reign(world: Any) -> None:
    """The node goes with the session; in the next one the controller finishes whatever there is to do."""
    world.last, before = None, world.epoch
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(Startup())
    assert world.context.is_active
    assert world.context.epoch == world.epoch == before + 1
    assert world.notes == world.log_dir_events == {}
    assert world.preferred_election is None
    assert world.topics.keys() <= world.context.assignments.keys()
    for topic, partitions in world.topics.items():
        for number, assignment in partitions.items():
            tp = TopicPartition(topic, number)
            if topic in world.marked:
                continue
            known = world.leadership(tp)
            assert known.leader in known.isr, tp
            assert set(known.isr) <= set(assignment.replicas), tp
            assert known.leader in world.brokers, tp
