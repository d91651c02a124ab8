from __future__ import annotations

from cluster.model.ids import TopicPartition
from cluster.model.statechange.levels import Level
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


def test_replicas_of_brokers_that_are_dead_at_the_start_go_offline_once(make_world):
    """KAFKA-13225, KAFKA-3143: moves without need, or none at all, for replicas that are offline already."""
    world = taken_over(make_world, 1, 2)
    world.run(Startup())
    moves = [line for line in world.lines() if "of replica 3 for partition t-0" in line]
    (move,) = moves
    assert move.endswith("from ReplicaDeletionIneligible to OfflineReplica")
    assert world.leadership(T0).isr == (1, 2)
    assert not [stop for stop in world.sent(effects.SendStopReplica) if stop.broker_id == 3]


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


def bounce(world, *numbers):
    """Those die and register again before anybody hears of it."""
    world.remove(*numbers)
    world.register(*numbers)


def test_a_leader_that_bounced_unseen_is_replaced_and_leaves_the_isr(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.run(Startup())
    known = world.leadership(T0)
    assert (known.leader, known.leader_epoch, known.isr) == (2, 6, (2, 3))
    told = {
        p.state.leader_and_isr.leader
        for sent in world.sent(effects.SendLeaderAndIsr)
        for p in sent.request.partitions
        if p.topic_partition == T0
    }
    assert told == {-1, 2}, "nobody is told to follow, or to be, the leader that may have lost its log"
    assert "broker 1 bounced unseen, and leaves the ISR of t-0" in world.reasons()


def test_a_leader_that_bounced_unseen_is_a_follower_after_the_failover(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.run(Startup())
    assert world.context.replica_states[PartitionReplica(T0, 1)] is ReplicaMachineState.ONLINE
    assert world.context.partition_states[T0] is PartitionMachineState.ONLINE
    last = [
        p.state.leader_and_isr
        for sent in world.sent(effects.SendLeaderAndIsr)
        if sent.broker_id == 1
        for p in sent.request.partitions
        if p.topic_partition == T0
    ][-1]
    assert last == world.leadership(T0)


def test_a_follower_that_bounced_unseen_leaves_the_isr_and_the_leader_stays(make_world):
    world = taken_over(make_world)
    bounce(world, 3)
    world.run(Startup())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1, 2))
    assert (world.leadership(T1).leader, world.leadership(T1).isr) == (2, (2,))
    assert world.leadership(T0).leader_epoch == 5
    assert any("t-0" in line and "after removing replica 3 from the ISR" in line for line in world.lines())


def test_where_every_live_member_bounced_the_state_is_left_as_it_stands(make_world):
    world = taken_over(make_world)
    before = world.states[T1]
    bounce(world, 2, 3)
    world.run(Startup())
    assert world.states[T1] == before
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1,))


def test_a_dead_member_that_has_not_bounced_does_not_count(make_world):
    world = taken_over(make_world)
    bounce(world, 2)
    world.remove(3)
    world.run(Startup())
    assert (world.leadership(T1).leader, world.leadership(T1).isr) == (2, (2,))


def test_a_broker_that_registered_before_the_state_was_written_has_not_bounced_unseen(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.write_state(T0, 1, (1, 2, 3), 4)
    before = dict(world.states)
    world.run(Startup())
    assert world.states == before


def test_a_leader_that_writes_meanwhile_does_not_hide_a_bounce(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.meanwhile[T0] = world.leadership(T0).with_isr((1, 2))
    world.run(Startup())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2,))


def test_where_traces_are_not_wanted_none_is_made(make_world):
    def told(*, traces):
        world = make_world(active=False, traces=traces)
        world.write_topic("t", (1, 2, 3), (2, 3, 1))
        world.write_state(T0, 1, (1, 2, 3), 4)
        world.run(Startup())
        lines = [effect.line.level for effect in world.sent(effects.LogStateChange)]
        rest = [effect for effect in world.effects if not isinstance(effect, effects.LogStateChange)]
        return lines, rest

    (all_lines, everything), (lines, rest) = told(traces=True), told(traces=False)
    assert Level.TRACE in all_lines
    assert lines == [level for level in all_lines if level is not Level.TRACE]
    assert rest == everything
