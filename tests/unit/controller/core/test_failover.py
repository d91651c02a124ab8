from __future__ import annotations

from cluster.model.ids import TopicPartition
from controller.core import effects
from controller.core.inputs import Startup
from controller.core.machines import PartitionMachineState, ReplicaMachineState
from controller.core.state import PartitionReplica

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def taken_over(make_world, *brokers):
    world = make_world(*brokers, active=False)
    world.write_topic("t", (1, 2, 3), (2, 3, 1))
    world.write_state(T0, 1, (1, 2, 3), 4)
    world.write_state(T1, 2, (2, 3), 6)
    return world


def test_brokers_hear_of_each_other_before_anything_else(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    sends = [e for e in world.effects if isinstance(e, effects.SendUpdateMetadata | effects.SendLeaderAndIsr)]
    assert isinstance(sends[0], effects.SendUpdateMetadata)
    assert sends[0].request.partitions == ()
    assert [broker.id for broker in sends[0].request.live_brokers] == [1, 2, 3]


def test_every_broker_is_told_all_it_hosts_and_everybody_all_leaders(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    told = {
        e.broker_id: [p.topic_partition for p in e.request.partitions]
        for e in world.sent(effects.SendLeaderAndIsr)
    }
    assert told == {1: [T0, T1], 2: [T0, T1], 3: [T0, T1]}
    last = world.sent(effects.SendUpdateMetadata)[1]
    assert dict(last.recipients) == {id_: broker.epoch for id_, broker in world.brokers.items()}
    assert [p.topic_partition for p in last.request.partitions] == [T0, T1]


def test_states_are_left_as_they_stand_where_all_is_well(make_world):
    world = taken_over(make_world)
    before = dict(world.states)
    world.run(Startup())
    assert world.states == before
    assert set(world.context.partition_states.values()) == {PartitionMachineState.ONLINE}


def test_partitions_without_live_leader_get_one_and_dead_replicas_leave_the_isr(make_world):
    world = taken_over(make_world, 2, 3)
    world.context.facts = type(world.context.facts)(2)
    world.run(Startup())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2, 3))
    assert world.leadership(T1).leader == 2
    assert world.context.replica_states[PartitionReplica(T0, 1)] is ReplicaMachineState.OFFLINE


def test_a_topic_whose_creation_was_interrupted_is_completed(make_world):
    world = make_world(active=False)
    world.write_topic("half", (2, 3))
    world.run(Startup())
    assert world.leadership(TopicPartition("half", 0)).leader == 2


def test_notes_of_the_former_reign_are_deleted_before_the_states_are_read(make_world):
    world = taken_over(make_world)
    world.notes["isr_change_1"] = (T0,)
    world.run(Startup())
    assert world.notes == {}
    kinds = [type(question) for question in world.questions]
    assert kinds.index(effects.DeleteIsrChanges) < kinds.index(effects.ReadPartitionStates)


def test_it_says_when_it_is_ready(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    assert world.reasons()[-1] == (
        "ready to serve as the controller with epoch 1: 3 brokers, 1 topics, 2 partitions"
    )


def test_a_channel_is_opened_to_each_broker(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    assert [e.broker.id for e in world.sent(effects.OpenChannel)] == [1, 2, 3]
