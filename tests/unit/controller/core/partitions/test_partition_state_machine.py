from __future__ import annotations

import itertools

import pytest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.context.machines import PARTITION_TRANSITIONS, PartitionMachineState
from barnabas.controller.core.partitions.effects import WritePartitionStates
from barnabas.controller.core.partitions.partition_state_machine import (
    bring_online,
    change_partitions,
    try_partitions,
)
from barnabas.controller.core.protocol.effects import (
    InterruptedDecisionError,
    Interruption,
    LogStateChange,
    SendLeaderAndIsr,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import TopicChange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
STATES = PartitionMachineState


def with_topic(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(PartitionMachineState, repeat=2)), ids=str
)
def test_every_move_is_made_or_logged_and_skipped(make_world, source, target):
    world = with_topic(make_world)
    world.context.partition_states[T0] = source
    if source is STATES.NON_EXISTENT:
        del world.context.partition_states[T0]
    if source is STATES.NEW:
        del world.states[T0], world.context.leaderships[T0]
    reached = world.drive(change_partitions(world.context, [T0], target))
    allowed = (source, target) in PARTITION_TRANSITIONS
    assert reached == ({T0} if allowed else set())
    now = world.context.partition_states.get(T0, STATES.NON_EXISTENT)
    assert now is (target if allowed else source)
    first = world.sent(LogStateChange)[0].line
    assert first.level.name == (
        "ERROR" if not allowed else "TRACE" if target in {STATES.OFFLINE, STATES.NON_EXISTENT} else "INFO"
    )
    if not allowed:
        assert f"Instead it is in {source} state" in (first.cause or "")


def test_one_call_leaves_one_request_of_each_kind_for_each_broker(make_world):
    world = with_topic(make_world)
    world.drive(change_partitions(world.context, [T0, T1], STATES.ONLINE))
    assert sorted(e.broker_id for e in world.sent(SendLeaderAndIsr)) == [1, 2, 3]
    assert len(world.sent(SendUpdateMetadata)) == 1


def test_lines_of_transitions_come_before_lines_of_requests(make_world):
    world = make_world()
    world.write_topic("t", (2, 3))
    world.run(TopicChange())
    texts = [line.removeprefix("[Controller id=1 epoch=1] ") for line in world.lines()]
    online = next(n for n, text in enumerate(texts) if "from NewPartition to OnlinePartition" in text)
    sending = next(n for n, text in enumerate(texts) if text.startswith("Sending become-leader"))
    assert online < sending
    assert (
        texts[0]
        == "Changed partition t-0 state from NonExistentPartition to NewPartition with assigned replicas 2,3"
    )
    assert texts[online] == (
        "Changed partition t-0 from NewPartition to OnlinePartition with state "
        "LeaderAndIsr(leader=2, leaderEpoch=0, isr=List(2, 3), zkVersion=0)"
    )


def test_a_state_that_is_there_already_keeps_the_partition_new(make_world):
    world = make_world()
    world.write_topic("t", (2, 3))
    world.write_state(T0, 3, (3,), 5)
    world.run(TopicChange())
    assert world.context.partition_states[T0] is STATES.NEW
    assert world.leadership(T0).leader == 3


def test_topics_that_are_being_deleted_are_not_brought_online(make_world):
    world = with_topic(make_world)
    world.context.partition_states[T0] = STATES.OFFLINE
    world.context.topics_to_delete.add("t")
    assert world.drive(bring_online(world.context)) == set()


def test_what_waits_is_brought_online(make_world):
    world = with_topic(make_world)
    world.context.partition_states[T0] = STATES.OFFLINE
    assert world.drive(bring_online(world.context)) == {T0}


def test_an_interruption_leaves_memory_as_it_was_written(make_world):
    world = with_topic(make_world)
    world.context.partition_states[T0] = STATES.OFFLINE
    world.interruptions[WritePartitionStates] = Interruption.SESSION_EXPIRED
    with pytest.raises(InterruptedDecisionError):
        world.drive(bring_online(world.context))
    assert world.context.partition_states[T0] is STATES.OFFLINE
    assert world.sent(SendLeaderAndIsr) == []


def test_each_outcome_has_its_cause(make_world):
    world = with_topic(make_world)
    world.context.partition_states[T1] = STATES.NON_EXISTENT
    unknown = TopicPartition("u", 0)
    outcomes = world.drive(try_partitions(world.context, [T0, T1, unknown], STATES.ONLINE))
    assert outcomes[T0] is None
    assert "Instead it is in NonExistentPartition state" in outcomes[T1]
    assert [line.cause for line in causes_logged(world)] == [outcomes[T1], outcomes[unknown]]


def causes_logged(world):
    lines = [effect.line for effect in world.sent(LogStateChange)]
    return [line for line in lines if line.cause is not None]


def test_one_topic_can_be_brought_online_alone(make_world):
    world = make_world()
    world.write_topic("t", (2, 3))
    world.write_topic("u", (2, 3))
    world.run(TopicChange())
    u0 = TopicPartition("u", 0)
    world.context.partition_states.update({T0: STATES.OFFLINE, u0: STATES.OFFLINE})
    assert world.drive(bring_online(world.context, "u")) == {u0}
    assert world.context.partition_states[T0] is STATES.OFFLINE
