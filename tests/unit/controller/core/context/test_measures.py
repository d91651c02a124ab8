from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.runtime.metrics import TIMED_EVENTS
from barnabas.controller.core.context.controller_context import ControllerContext, Facts, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.context.measures import ControllerGauges, Measures, rate_and_time
from barnabas.controller.core.protocol.effects import ControllerFence
from barnabas.controller.core.protocol.inputs import BrokerChange, ControllerState, Expire, TopicChange

T0 = TopicPartition("t", 0)


@pytest.fixture
def gauges():
    return ControllerGauges()


def test_the_time_of_each_state_counts_under_kafkas_name():
    assert {rate_and_time(state) for state in ControllerState} == set(TIMED_EVENTS)
    assert rate_and_time(ControllerState.BROKER_CHANGE) == "LeaderElection"


def test_who_is_not_the_controller_counts_nothing(make_world, gauges):
    assert gauges.measure(make_world(active=False).context) == Measures()


def test_a_healthy_cluster(make_world, gauges):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 1))
    world.write_topic("u", (3,))
    world.run(TopicChange())
    assert gauges.measure(world.context) == Measures(1, 0, 0, 2, 3)


def test_a_dead_broker_shows_in_both_counts_until_it_is_back(make_world, gauges):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 1), (3,))
    world.run(TopicChange())
    world.remove(3, 2)
    world.run(BrokerChange())
    measures = gauges.measure(world.context)
    assert measures.offline_partitions_count == 1
    assert measures.preferred_replica_imbalance_count == 2
    world.register(3)
    world.run(BrokerChange())
    measures = gauges.measure(world.context)
    assert (measures.offline_partitions_count, measures.preferred_replica_imbalance_count) == (0, 1)


def test_a_topic_that_is_being_deleted_counts_as_a_topic_alone(make_world, gauges):
    world = make_world()
    world.write_topic("t", (2, 3))
    world.run(TopicChange())
    world.remove(2, 3)
    world.run(BrokerChange())
    assert gauges.measure(world.context).offline_partitions_count == 1
    world.context.topics_to_delete.add("t")
    world.context.topics_ineligible_for_deletion.add("t")
    world.context.replica_states[PartitionReplica(T0, BrokerId(2))] = ReplicaMachineState.DELETION_SUCCESSFUL
    world.context.replica_states[PartitionReplica(T0, BrokerId(3))] = ReplicaMachineState.DELETION_INELIGIBLE
    assert gauges.measure(world.context) == Measures(1, 0, 0, 1, 1, 1, 1, 1, 1)
    world.context.topics_to_delete.clear()
    assert gauges.measure(world.context).offline_partitions_count == 1


def test_who_resigns_counts_nothing_any_more(make_world, gauges):
    world = make_world()
    world.write_topic("t", (2,))
    world.run(TopicChange())
    world.remove(2)
    world.run(BrokerChange())
    gauges.measure(world.context)
    world.run(Expire())
    assert gauges.measure(world.context) == Measures()
    world.register(2)
    world.context.active_controller_id, world.context.fence = BrokerId(1), ControllerFence(1, 1)
    assert gauges.measure(world.context) == Measures(1)


steps = st.lists(
    st.tuples(
        st.sampled_from(["state", "leader", "assign", "delete", "forget", "measure"]),
        st.sampled_from(["t", "u"]),
        st.integers(0, 2),
        st.sampled_from([1, 2, NO_LEADER]),
        st.sampled_from(PartitionMachineState),
    ),
    max_size=25,
)


@given(steps)
def test_the_incremental_count_equals_a_recount(walk):
    context = ControllerContext(Facts(BrokerId(1)), BrokerId(1), ControllerFence(1, 1))
    gauges = ControllerGauges()
    for kind, topic, number, broker, state in walk:
        tp = TopicPartition(topic, number)
        if kind in {"state", "leader"} and not context.assignment(tp).replicas:
            context.assign(tp, Assignment((BrokerId(1), BrokerId(2))))
        match kind:
            case "state":
                context.partition_states[tp] = state
            case "leader":
                known = LeaderAndIsr(BrokerId(broker), LeaderEpoch(0), (BrokerId(1),))
                context.leaderships[tp] = PartitionState(known, 1)
            case "assign":
                context.assign(tp, Assignment((BrokerId(1), BrokerId(2)) if broker == 1 else (BrokerId(2),)))
            case "delete":
                context.topics_to_delete ^= {topic}
            case "forget":
                context.forget_topic(topic)
            case "measure":
                assert gauges.measure(context) == count_anew(context)
    assert gauges.measure(context) == count_anew(context)


def count_anew(context):
    """The slow twin: over all partitions each time, as Kafka's metrics were before 2.0."""
    offline = imbalanced = 0
    for tp in {*context.partition_states, *context.leaderships}:
        if tp.topic in context.topics_to_delete:
            continue
        offline += context.partition_states.get(tp) is PartitionMachineState.OFFLINE
        replicas, known = context.assignment(tp).replicas, context.leaderships.get(tp)
        imbalanced += bool(replicas) and known is not None and known.leader_and_isr.leader != replicas[0]
    topics = sum(topic in context.topics_to_delete for topic in context.assignments)
    replicas = sum(
        len(assignment.replicas)
        for topic in context.topics_to_delete
        for assignment in context.assignments.get(topic, {}).values()
    )
    partitions = len(list(context.partitions()))
    assert topics <= len(context.topics_to_delete)
    return Measures(
        1,
        offline,
        imbalanced,
        len(context.assignments),
        partitions,
        len(context.topics_to_delete),
        replicas,
    )
