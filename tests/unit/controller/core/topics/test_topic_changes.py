from __future__ import annotations

import pytest

from barnabas.cluster.model.ids import TopicIdentity, TopicPartition
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.protocol.effects import LogStateChange, SendLeaderAndIsr
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    PartitionModifications,
    Startup,
    TopicChange,
    TopicDeletion,
    ZkPartitionReassignment,
)
from barnabas.controller.core.topics.effects import RemoveTopicDeletions

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)
FIRST, SECOND = TopicIdentity(1700, 8), TopicIdentity(1700, 9)


def test_a_topic_written_by_anybody_is_created(make_world):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 3))
    world.run(TopicChange())
    assert world.leadership(T0).leader == 1
    assert world.leadership(T1).isr == (2, 3)
    assert set(world.context.partition_states.values()) == {PartitionMachineState.ONLINE}
    assert set(world.context.replica_states.values()) == {ReplicaMachineState.ONLINE}
    sent = {e.broker_id: e.request.partitions for e in world.sent(SendLeaderAndIsr)}
    assert {id_: [p.topic_partition for p in some] for id_, some in sent.items()} == {
        1: [T0],
        2: [T0, T1],
        3: [T1],
    }
    assert all(p.is_new for some in sent.values() for p in some)


def test_a_replica_on_a_dead_broker_gets_the_request_on_its_return(make_world):
    world = make_world()
    world.write_topic("t", (1, 9))
    world.run(TopicChange())
    assert world.leadership(T0).isr == (1,)
    world.register(9)
    world.effects.clear()
    world.run(BrokerChange())
    assert [e.broker_id for e in world.sent(SendLeaderAndIsr)] == [9]


def test_a_topic_none_of_whose_brokers_lives_waits(make_world):
    world = make_world()
    world.write_topic("t", (8, 9))
    world.run(TopicChange())
    assert world.states == {}
    assert any("No assigned replica is alive." in (e.line.cause or "") for e in world.sent(LogStateChange))
    world.register(9)
    world.run(BrokerChange())
    assert world.leadership(T0).leader == 9


def test_more_partitions_are_added(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    before = world.states[T0]
    world.write_topic("t", (1, 2), (2, 1))
    world.run(PartitionModifications("t"))
    assert world.states[T0] == before
    assert world.leadership(T1).leader == 2
    assert "new partitions: t-1" in world.reasons()


def test_a_topic_that_is_gone_is_forgotten(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    del world.topics["t"]
    world.run(TopicChange())
    assert world.context.assignments == {}
    assert world.context.leaderships == {}
    assert world.context.partition_states == {}
    assert world.context.replica_states == {}


def test_nothing_new_does_nothing(make_world):
    world = make_world()
    assert world.run(TopicChange(), PartitionModifications("never seen")) == []


def test_a_topic_that_vanishes_between_list_and_node_is_no_error(make_world):
    world = make_world()
    world.topics["ghost"] = {}
    world.run(TopicChange())
    assert world.context.assignments == {}


def test_a_queued_topic_that_was_removed_by_hand_leaves_no_mark_for_its_successor(make_world):
    """Its mark would delete the topic that is made anew under its name, and all that was written to it."""
    world = make_world()
    world.write_topic("t", (1, 3))
    world.run(TopicChange())
    world.remove(3)
    world.marked.add("t")
    world.run(BrokerChange(), TopicDeletion())
    assert world.context.is_being_deleted("t")
    del world.topics["t"], world.states[T0]
    world.run(TopicChange())
    assert world.marked == set()
    world.write_topic("t", (1, 2))
    world.run(TopicChange(), TopicDeletion())
    assert world.leadership(T0).leader == 1
    assert not world.context.is_being_deleted("t")


def test_a_queued_topic_that_was_never_readable_leaves_no_mark_either(make_world):
    world = make_world()
    world.context.topics_to_delete.add("spoiled")
    world.marked.add("spoiled")
    world.run(TopicChange())
    assert world.marked == set()
    assert world.context.topics_to_delete == set()


def test_a_mark_that_cannot_be_removed_keeps_no_new_topic_waiting(make_world):
    """Somebody made a node below it: the removal fails, each time."""
    world = make_world()
    world.context.topics_to_delete.add("spoiled")
    world.failures[RemoveTopicDeletions] = RuntimeError("the node has children")
    world.write_topic("t", (1, 2))
    with pytest.raises(RuntimeError, match="children"):
        world.run(TopicChange())
    assert world.leadership(T0).leader == 1


@pytest.mark.parametrize("name", ["x" * 300, "a b", "schön"])
@pytest.mark.parametrize("active", [False, True], ids=["found by a new controller", "seen when written"])
def test_a_name_that_no_topic_may_have_reaches_no_broker(make_world, name, active):
    """No log directory can hold it; the brokers would take theirs for failed."""
    world = make_world(active=active)
    world.write_topic(name, (1, 2))
    world.write_topic("t", (1, 2))
    world.run(TopicChange() if active else Startup())
    assert world.context.assignments.keys() == {"t"}
    assert list(world.states) == [T0]
    assert any("no topic may have" in reason for reason in world.reasons())


def test_a_moving_topic_taken_away_by_hand_is_asked_to_move_no_more(make_world):
    """What stayed in /admin/reassign_partitions would keep the tools of old from asking for anything."""
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    world.ask_for(t_0=(3,))
    world.run(ZkPartitionReassignment())
    assert world.requested is not None
    del world.topics["t"]
    world.run(TopicChange())
    assert world.requested is None


def test_a_topic_recreated_before_the_watch_fired_is_the_old_one_as_in_kafka(make_world):
    """Deleted and created in one transaction: names are compared, and the name is there as before."""
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    before = dict(world.context.assignments["t"])
    world.write_topic("t", (2, 3))
    world.states.clear()
    assert world.run(TopicChange()) == []
    assert world.context.assignments["t"] == before


def sent_identities(world):
    return {
        partition.topic_identity
        for effect in world.sent(SendLeaderAndIsr)
        for partition in effect.request.partitions
    }


def test_brokers_get_the_identity_of_the_topic(make_world):
    world = make_world()
    world.write_topic("t", (1, 2), (2, 3))
    world.identities["t"] = FIRST
    world.run(TopicChange())
    assert sent_identities(world) == {FIRST}
    del world.topics["t"]
    world.run(TopicChange())
    assert world.context.identities == {}
    world.effects.clear()
    world.states.clear()
    world.write_topic("t", (1, 3))
    world.identities["t"] = SECOND
    world.run(TopicChange())
    assert sent_identities(world) == {SECOND}


def test_a_new_controller_tells_it_with_all_that_it_tells(make_world):
    world = make_world(active=False)
    world.write_topic("t", (1, 2))
    world.identities["t"] = SECOND
    world.write_state(T0, 1, (1, 2), epoch=4)
    world.run(Startup())
    assert sent_identities(world) == {SECOND}
