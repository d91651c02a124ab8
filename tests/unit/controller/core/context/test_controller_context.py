from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.context.controller_context import (
    ControllerContext,
    Facts,
    PartitionReplica,
    ReplicaStates,
)
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.protocol.inputs import TopicChange

T0 = TopicPartition("t", 0)
NUMBERS = st.integers(0, 2)
ONES = st.builds(PartitionReplica, st.builds(TopicPartition, st.just("t"), NUMBERS), NUMBERS.map(BrokerId))


def with_topic(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1))
    world.run(TopicChange())
    return world.context


def test_who_is_online(make_world):
    context = with_topic(make_world)
    assert context.online_replicas(T0) == (2, 3, 1)
    context.shutting_down.add(BrokerId(3))
    context.offline_dirs[BrokerId(1)] = {T0}
    assert context.online_replicas(T0) == (2,)
    assert context.live_brokers == {1, 2}
    assert context.is_online(BrokerId(1), TopicPartition("u", 0))
    assert not context.is_online(BrokerId(9), T0)


BROKERS = st.integers(1, 5).map(BrokerId)
TPS = st.builds(TopicPartition, st.sampled_from("tu"), NUMBERS)
FAILED_DIRS = st.dictionaries(BROKERS, st.sets(TPS), max_size=2)
HELD = st.dictionaries(TPS, st.lists(BROKERS, unique=True).map(tuple))


@given(st.sets(BROKERS), st.sets(BROKERS), FAILED_DIRS, HELD)
def test_of_many_partitions_the_same_is_known_as_of_each(registered, leaving, failed, held):
    context = ControllerContext(Facts(BrokerId(1)))
    context.brokers = dict.fromkeys(registered)
    context.shutting_down = leaving & registered
    context.offline_dirs = failed
    for tp, replicas in held.items():
        context.assign(tp, Assignment(replicas))
    tps = [*held, TopicPartition("unknown", 0), TopicPartition("t", 9)]
    assert context.assigned(tps) == [context.assignment(tp) for tp in tps]
    liveness = context.liveness()
    for tp, replicas in held.items():
        expected = tuple(replica for replica in replicas if not context.is_online(replica, tp))
        assert liveness.offline(tp, replicas) == expected


def test_what_is_not_known_has_no_replicas_and_no_offline_leader(make_world):
    context = with_topic(make_world)
    unknown = TopicPartition("unknown", 0)
    assert context.assignment(unknown) == Assignment(())
    assert not context.is_leader_offline(unknown)


def test_replicas_by_partition_and_by_broker(make_world):
    context = with_topic(make_world)
    assert context.replicas([T0]) == [PartitionReplica(T0, BrokerId(n)) for n in (2, 3, 1)]
    assert context.replicas_on([BrokerId(3), BrokerId(9)]) == [PartitionReplica(T0, BrokerId(3))]


def test_a_replica_prints_as_kafka_prints_it():
    assert str(PartitionReplica(T0, BrokerId(1))) == "[Topic=t,Partition=0,Replica=1]"


def test_what_is_forgotten_is_gone(make_world):
    context = with_topic(make_world)
    context.topics_to_delete.add("t")
    context.forget_topic("t")
    known = context.assignments, context.leaderships, context.partition_states, context.replica_states
    assert not any(known)
    assert not context.is_being_deleted("t")
    context.forget_topic("t")


def test_a_reset_context_is_not_the_active_controllers(make_world):
    context = with_topic(make_world)
    context.forget_cluster()
    assert not context.is_active
    assert context.epoch == 0
    assert not any((context.brokers, context.assignments, context.leaderships))


@given(st.lists(st.tuples(ONES, st.none() | st.sampled_from(ReplicaMachineState))))
def test_replica_states_are_a_dictionary_that_is_kept_by_broker(steps):
    states, twin = ReplicaStates(), {}
    for one, state in steps:
        if state is not None:
            states[one] = twin[one] = state
        elif one in twin:
            del states[one], twin[one]
        else:
            with pytest.raises(KeyError):
                del states[one]
        assert states == twin
        assert len(states) == len(twin)
        assert {tp: states.on(one.replica)[tp] for tp in states.on(one.replica)} == {
            other.partition: value for other, value in twin.items() if other.replica == one.replica
        }
    states.clear()
    assert states == {}
