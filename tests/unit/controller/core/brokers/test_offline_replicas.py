from __future__ import annotations

from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.brokers.offline_replicas import on_replicas_become_offline
from barnabas.controller.core.context.machines import PartitionMachineState
from barnabas.controller.core.protocol.effects import SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import TopicChange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def without_broker_2(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.effects.clear()
    world.remove(2)
    del world.context.brokers[BrokerId(2)]
    return world


def test_leaders_are_elected_before_the_dead_leave_the_isr(make_world):
    world = without_broker_2(make_world)
    world.drive(on_replicas_become_offline(world.context, world.context.replicas_on([BrokerId(2)])))
    assert world.leadership(T0).isr == (3, 1)
    assert world.leadership(T1).isr == (3, 1)
    assert world.leadership(T0).leader_epoch == 1, "the election took the dead one out already"
    assert world.context.partition_states[T0] is PartitionMachineState.ONLINE
    first = next(n for n, line in enumerate(world.lines()) if "to OnlinePartition" in line)
    later = next(n for n, line in enumerate(world.lines()) if "to OfflineReplica" in line)
    assert first < later


def test_a_topic_that_is_being_deleted_is_left_alone(make_world):
    world = without_broker_2(make_world)
    world.context.topics_to_delete.add("t")
    before = dict(world.states)
    world.drive(on_replicas_become_offline(world.context, world.context.replicas_on([BrokerId(2)])))
    assert world.states == before
    assert len(world.sent(SendUpdateMetadata)) == 1
