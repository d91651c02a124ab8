from __future__ import annotations

import itertools

import pytest

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import PartitionReplica
from barnabas.controller.core.context.machines import REPLICA_TRANSITIONS, ReplicaMachineState
from barnabas.controller.core.protocol.effects import (
    LogStateChange,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import TopicChange
from barnabas.controller.core.replicas.replica_state_machine import change_replicas

T0 = TopicPartition("t", 0)
STATES = ReplicaMachineState
FOLLOWER = PartitionReplica(T0, BrokerId(3))
LEADER = PartitionReplica(T0, BrokerId(2))


def with_topic(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


def place(world, one, state):
    world.context.replica_states[one] = state
    if state is STATES.NON_EXISTENT:
        del world.context.replica_states[one]


@pytest.mark.parametrize(
    ("source", "target"), list(itertools.product(ReplicaMachineState, repeat=2)), ids=str
)
def test_every_move_is_made_or_logged_and_skipped(make_world, source, target):
    world = with_topic(make_world)
    place(world, FOLLOWER, source)
    world.drive(change_replicas(world.context, [FOLLOWER], target))
    allowed = (source, target) in REPLICA_TRANSITIONS
    now = world.context.replica_states.get(FOLLOWER, STATES.NON_EXISTENT)
    assert now is (target if allowed else source)
    moved = (
        f"[Controller id=1 epoch=1] Changed state of replica 3 for partition t-0 from {source} to {target}"
    )
    assert (moved in world.lines()) is allowed
    if not allowed:
        cause = world.sent(LogStateChange)[0].line.cause
        assert "Replica [Topic=t,Partition=0,Replica=3] should be in the" in cause


@pytest.mark.parametrize(
    ("source", "target", "sent"),
    [
        (STATES.NON_EXISTENT, STATES.NEW, ["LeaderAndIsr new"]),
        (STATES.NEW, STATES.ONLINE, []),
        (STATES.ONLINE, STATES.ONLINE, ["LeaderAndIsr"]),
        (STATES.DELETION_INELIGIBLE, STATES.ONLINE, ["LeaderAndIsr"]),
        (STATES.OFFLINE, STATES.DELETION_STARTED, ["StopReplica delete"]),
        (STATES.ONLINE, STATES.OFFLINE, ["StopReplica"]),
        (STATES.DELETION_STARTED, STATES.DELETION_SUCCESSFUL, []),
    ],
    ids=str,
)
def test_the_requests_to_the_replica_itself(make_world, source, target, sent):
    world = with_topic(make_world)
    place(world, FOLLOWER, source)
    world.drive(change_replicas(world.context, [FOLLOWER], target))
    requests = []
    for effect in world.effects:
        if isinstance(effect, SendLeaderAndIsr) and effect.broker_id == 3:
            requests.append("LeaderAndIsr" + " new" * effect.request.partitions[0].is_new)
        if isinstance(effect, SendStopReplica) and effect.broker_id == 3:
            requests.append("StopReplica" + " delete" * effect.request.partitions[0].delete)
    assert requests == sent


@pytest.mark.parametrize("target", [STATES.ONLINE, STATES.OFFLINE])
def test_one_call_leaves_one_request_of_each_kind_for_each_broker(make_world, target):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 1, 2), (1, 2, 3))
    world.run(TopicChange())
    world.effects.clear()
    world.drive(change_replicas(world.context, world.context.replicas_on((2, 3)), target))
    for kind in (SendLeaderAndIsr, SendStopReplica):
        ids = [sent.broker_id for sent in world.sent(kind)]
        assert len(ids) == len(set(ids))
    assert len(world.sent(SendUpdateMetadata)) == 1


def test_going_offline_shrinks_the_isr_and_tells_the_others(make_world):
    world = with_topic(make_world)
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.OFFLINE))
    assert world.leadership(T0).isr == (2, 1)
    assert sorted(e.broker_id for e in world.sent(SendLeaderAndIsr)) == [1, 2]
    assert any("after removing replica 3 from the ISR" in line for line in world.lines())


def test_a_topic_that_is_being_deleted_tells_nobody_of_its_isr(make_world):
    world = with_topic(make_world)
    world.context.topics_to_delete.add("t")
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.OFFLINE))
    assert world.sent(SendLeaderAndIsr) == []
    (stop,) = world.sent(SendStopReplica)
    assert stop.request.partitions[0].leader_epoch == -2


def test_without_a_leadership_only_metadata_are_sent(make_world):
    world = with_topic(make_world)
    del world.states[T0], world.context.leaderships[T0]
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.OFFLINE))
    assert world.context.replica_states[FOLLOWER] is STATES.OFFLINE
    (stop,) = world.sent(SendStopReplica)
    assert stop.request.partitions[0].leader_epoch == -1
    assert len(world.sent(SendUpdateMetadata)) == 1
    assert world.sent(SendLeaderAndIsr) == []


def test_a_state_that_vanished_is_logged_and_the_replica_stays(make_world):
    world = with_topic(make_world)
    world.write_state(T0, 2, (2, 1))
    world.context.leaderships[T0] = world.states[T0]
    del world.states[T0]
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.OFFLINE))
    assert world.context.replica_states[FOLLOWER] is STATES.ONLINE
    assert any("failed" in line for line in world.lines())


def test_the_leader_cannot_be_a_new_replica(make_world):
    world = with_topic(make_world)
    place(world, LEADER, STATES.NON_EXISTENT)
    world.drive(change_replicas(world.context, [LEADER], STATES.NEW))
    assert LEADER not in world.context.replica_states
    assert "requested to become leader" in world.sent(LogStateChange)[0].line.cause


def test_a_replica_that_joins_stands_in_the_assignment(make_world):
    world = with_topic(make_world)
    world.context.assign(T0, Assignment((BrokerId(2),)))
    place(world, FOLLOWER, STATES.NEW)
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.ONLINE))
    assert world.context.assignment(T0).replicas == (2, 3)


def test_a_replica_that_is_deleted_is_forgotten(make_world):
    world = with_topic(make_world)
    place(world, FOLLOWER, STATES.DELETION_SUCCESSFUL)
    world.drive(change_replicas(world.context, [FOLLOWER], STATES.NON_EXISTENT))
    assert world.context.assignment(T0).replicas == (2, 1)
    assert FOLLOWER not in world.context.replica_states
