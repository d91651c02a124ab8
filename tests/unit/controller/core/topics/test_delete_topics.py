from __future__ import annotations

import pytest

from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments
from barnabas.cluster.model.commands.topics import DeleteTopics
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, Reply, SendLeaderAndIsr, SendStopReplica
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    ControllerChange,
    PartitionReassignmentIsrChange,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    ZkPartitionReassignment,
)
from barnabas.controller.core.topics.effects import DeleteTopic, MarkTopicDeletions

T0 = TopicPartition("t", 0)


def ask(world, *names):
    (reply,) = world.sent(Reply, world.run(CommandReceived(7, DeleteTopics(names))))
    assert reply.token == 7
    return {result.name: result.error for result in reply.result.topics}


def test_topics_are_marked_and_others_are_unknown(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    assert ask(world, "t", "ghost", "t") == {
        "t": ErrorCode.NONE,
        "ghost": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert world.marked == {"t"}
    assert world.context.topics_to_delete == set(), "the watch leads there"


def test_marking_twice_is_no_error(make_world):
    world = make_world()
    world.write_topic("t", (1, 2))
    assert ask(world, "t") == ask(world, "t") == {"t": ErrorCode.NONE}


def test_nothing_to_mark_writes_nothing(make_world):
    world = make_world()
    ask(world, "ghost")
    assert not any(isinstance(question, MarkTopicDeletions) for question in world.questions)


def test_without_delete_topic_enable_nothing_is_marked(make_world):
    world = make_world(delete_topic_enable=False)
    world.write_topic("t", (1, 2))
    assert ask(world, "t") == {"t": ErrorCode.TOPIC_DELETION_DISABLED}
    assert world.marked == set()


def test_on_another_broker_it_is_refused(make_world):
    world = make_world(active=False)
    (reply,) = world.sent(Reply, world.run(CommandReceived(1, DeleteTopics(("t",)))))
    assert reply.result.error is ErrorCode.NOT_CONTROLLER


def test_a_topic_whose_nodes_cannot_be_deleted_keeps_no_other_and_is_tried_again(make_world):
    world = make_world()
    for name in ("a", "b"):
        world.write_topic(name, (1,))
    world.marked = {"a", "b"}
    refusal = RuntimeError("no right to delete /brokers/topics/a")
    world.answers[DeleteTopic] = lambda asked: refusal if asked.topic == "a" else world.answer_deletion(asked)
    world.run(TopicChange(), TopicDeletion())
    gone = {TopicPartition(name, 0): ErrorCode.NONE for name in ("a", "b")}
    deleted = TopicDeletionStopReplicaResponseReceived(BrokerId(1), world.epoch_of(1), gone)
    yielded = world.run(deleted)
    assert (set(world.topics), world.marked) == ({"a"}, {"a"})
    assert "went on without the end of topic a: RuntimeError: no right to delete /brokers/topics/a" in (
        world.reasons(yielded)
    )
    del world.answers[DeleteTopic]
    world.run(TopicDeletion())
    assert (set(world.topics), world.marked) == (set(), set())


# A topic that is to be deleted while a partition of it moves to a broker that is away


@pytest.fixture
def moving(make_world):
    """t-0 moves from 1 and 2 to 4 and 5, broker 5 has died on the way, and t is marked."""
    world = make_world(1, 2, 3, 4, 5)
    world.write_topic("t", (1, 2))
    world.run(TopicChange())
    world.ask_for(t_0=(4, 5))
    world.run(ZkPartitionReassignment())
    world.remove(5)
    world.run(BrokerChange())
    world.marked.add("t")
    world.run(TopicDeletion())
    world.effects.clear()
    return world


def alter(world, target):
    world.run(CommandReceived(7, AlterPartitionReassignments({T0: target})))
    return world.sent(Reply)[-1].result.partitions[T0].error


def deletes(world, some):
    return {
        stop.broker_id
        for stop in world.sent(SendStopReplica, some)
        for partition in stop.request.partitions
        if partition.delete
    }


def woken(world, some):
    """Who is sent a replica of t."""
    return {sent.broker_id for sent in world.sent(SendLeaderAndIsr, some)}


def answer(world, *brokers):
    for broker in brokers:
        epoch = world.epoch_of(broker)
        errors = {T0: ErrorCode.NONE}
        world.run(TopicDeletionStopReplicaResponseReceived(BrokerId(broker), epoch, errors))


def assert_gone(world):
    assert "t" not in world.topics
    assert world.marked == set()
    assert world.states == {}
    assert world.requested is None
    assert not world.context.assignments
    assert not world.context.replica_states
    assert not world.context.topics_to_delete
    assert not world.context.topics_ineligible_for_deletion


def succeed(world):
    world.controller, world.owns_controller = NO_CONTROLLER, False
    return world.run(ControllerChange())


def test_it_waits_and_the_move_can_neither_be_cancelled_nor_replaced(moving):
    """As in Kafka: nobody reassigns what is being deleted."""
    assert moving.context.topics_ineligible_for_deletion == {"t"}
    assert alter(moving, None) == alter(moving, (3,)) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert "t" in moving.topics


def test_the_return_of_the_target_ends_it(moving):
    moving.register(5)
    yielded = moving.run(BrokerChange())
    assert deletes(moving, yielded) == {1, 2, 4, 5}
    answer(moving, 1, 2, 4, 5)
    assert_gone(moving)


def test_a_new_controller_waits_too(moving):
    yielded = succeed(moving)
    assert deletes(moving, yielded) == set()
    assert moving.context.topics_ineligible_for_deletion == {"t"}
    moving.register(5)
    assert deletes(moving, moving.run(BrokerChange())) == {1, 2, 4, 5}
    answer(moving, 1, 2, 4, 5)
    assert_gone(moving)


def test_what_is_deleted_already_is_not_woken_by_the_move(moving):
    """The return of any broker with a replica begins the deletion; the target comes later, or never."""
    moving.remove(2)
    moving.run(BrokerChange())
    moving.register(2)
    yielded = moving.run(BrokerChange())
    assert deletes(moving, yielded) == {1, 2, 4}
    answer(moving, 1, 2, 4)
    assert "t" in moving.topics
    moving.register(5)
    yielded = moving.run(BrokerChange(), PartitionReassignmentIsrChange((T0,)))
    assert woken(moving, yielded) <= {5}
    assert deletes(moving, yielded) == {5}
    answer(moving, 5)
    assert_gone(moving)
