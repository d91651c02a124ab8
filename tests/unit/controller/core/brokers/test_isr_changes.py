from __future__ import annotations

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.partitions.effects import ReadPartitionStates
from barnabas.controller.core.protocol.broker_znodes import DeleteIsrChanges
from barnabas.controller.core.protocol.effects import Interruption, SendLeaderAndIsr, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import IsrChangeNotification, TopicChange

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def noted(make_world):
    world = make_world()
    world.write_topic("t", (1, 2, 3), (2, 3, 1))
    world.run(TopicChange())
    world.write_state(T0, 1, (1, 2))
    world.notes = {"isr_change_1": (T0,), "isr_change_2": (T0, TopicPartition("unknown", 0))}
    world.effects.clear()
    world.questions.clear()
    return world


def test_the_new_isr_is_read_and_sent_to_all_brokers(make_world):
    world = noted(make_world)
    world.run(IsrChangeNotification())
    (sent,) = world.sent(SendUpdateMetadata)
    assert sorted(sent.recipients) == [1, 2, 3]
    assert [(p.topic_partition, p.state.leader_and_isr.isr) for p in sent.request.partitions] == [
        (T0, (1, 2))
    ]
    assert not world.sent(SendLeaderAndIsr)
    assert world.context.leaderships[T0].leader_and_isr.isr == (1, 2)


def test_the_notes_are_deleted_last(make_world):
    world = noted(make_world)
    world.run(IsrChangeNotification())
    assert world.notes == {}
    assert isinstance(world.questions[-1], DeleteIsrChanges)


def test_a_former_controller_leaves_the_notifications_to_its_successor(make_world):
    world = noted(make_world)
    world.interruptions[ReadPartitionStates] = Interruption.SESSION_EXPIRED
    world.run(IsrChangeNotification())
    assert len(world.notes) == 2


def test_without_notes_nothing_is_sent(make_world):
    world = noted(make_world)
    world.notes = {}
    assert world.run(IsrChangeNotification()) == []


def test_notes_of_unknown_partitions_are_only_deleted(make_world):
    world = noted(make_world)
    world.notes = {"isr_change_3": (TopicPartition("unknown", 0),)}
    assert world.run(IsrChangeNotification()) == []
    assert world.notes == {}
