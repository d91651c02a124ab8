"""The deletion of topics, from the mark to the last node, with everything that may stand in its way."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.commands.topics import DeleteTopics
from barnabas.cluster.model.epochs import EPOCH_DURING_DELETE
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.controller.core.context.controller_context import PartitionReplica
from barnabas.controller.core.context.machines import REPLICA_TRANSITIONS, ReplicaMachineState
from barnabas.controller.core.protocol.effects import (
    LogStateChange,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    LeaderAndIsrResponseReceived,
    PartitionModifications,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
)
from barnabas.controller.core.topics import topic_deletion
from barnabas.controller.core.topics.effects import DeleteTopic, RemoveTopicDeletions

R = ReplicaMachineState
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def answered(world, broker, *tps, error=ErrorCode.NONE, epoch=None):
    """What broker ``broker`` says of the replicas that it was to delete."""
    id_ = BrokerId(broker)
    life = world.brokers[id_].epoch if epoch is None else epoch
    return TopicDeletionStopReplicaResponseReceived(id_, life, dict.fromkeys(tps or (T0,), error))


def states(world):
    return {(one.replica, one.partition): state for one, state in world.context.replica_states.items()}


def deletes(world, some=None):
    """Which brokers were sent a deletion."""
    return {
        (stop.broker_id, partition.topic_partition)
        for stop in world.sent(SendStopReplica, some)
        for partition in stop.request.partitions
        if partition.delete
    }


def assert_gone(world):
    assert "t" not in world.topics
    assert "t" not in world.marked
    assert world.states == {}
    assert world.context.assignments == {}
    assert world.context.leaderships == {}
    assert world.context.partition_states == {}
    assert world.context.replica_states == {}
    assert world.context.topics_to_delete == set()
    assert world.context.topics_ineligible_for_deletion == set()
    assert world.context.topics_with_deletion_started == set()


@pytest.fixture
def world(make_world):
    """A cluster with topic ``t`` of two partitions on brokers 1 and 2, and 2 and 3."""
    world = make_world()
    world.write_topic("t", (1, 2), (2, 3))
    world.run(TopicChange())
    world.effects.clear()
    return world


def test_nobody_serves_a_topic_that_is_marked_and_its_replicas_are_deleted(world):
    world.marked.add("t")
    yielded = world.run(TopicDeletion())
    cached = [p for umr in world.sent(SendUpdateMetadata, yielded) for p in umr.request.partitions]
    assert {p.topic_partition for p in cached} == {T0, T1}
    assert {p.state.leader_and_isr.leader for p in cached} == {LEADER_DURING_DELETE}
    assert deletes(world, yielded) == {(1, T0), (2, T0), (2, T1), (3, T1)}
    epochs = {p.leader_epoch for e in world.sent(SendStopReplica, yielded) for p in e.request.partitions}
    assert epochs == {EPOCH_DURING_DELETE}
    assert world.sent(SendLeaderAndIsr, yielded) == [], "nobody leads it any more"
    assert set(states(world).values()) == {R.DELETION_STARTED}
    assert world.context.partition_states == {}


def test_followers_stop_before_anybody_deletes(world):
    world.marked.add("t")
    flags = [
        {p.delete for p in stop.request.partitions}
        for stop in world.sent(SendStopReplica, world.run(TopicDeletion()))
    ]
    assert flags == [{False}] * 3 + [{True}] * 3


def test_the_topic_is_gone_once_all_have_answered(world):
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1))
    assert "t" in world.topics
    world.run(answered(world, 3, T1))
    assert_gone(world)
    assert "topic t is deleted" in world.reasons()


def test_a_deleted_topic_can_be_made_again(world):
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    world.write_topic("t", (3, 1))
    yielded = world.run(TopicChange())
    assert world.leadership(T0).leader_epoch == 0
    assert {e.broker_id for e in world.sent(SendLeaderAndIsr, yielded)} == {1, 3}


def test_a_mark_of_no_topic_is_taken_away(world):
    world.marked.update({"t", "ghost"})
    world.run(TopicDeletion())
    assert world.marked == {"t"}
    assert "not to be deleted, because there is no such topic: ghost" in world.reasons()


def test_a_topic_whose_node_is_empty_can_be_deleted(world):
    world.topics["empty"] = {}
    world.marked.add("empty")
    world.run(TopicChange(), TopicDeletion())
    assert "empty" not in world.topics
    assert world.marked == set()


@pytest.mark.parametrize("found", ["by the watch", "at failover"])
def test_without_delete_topic_enable_marks_are_only_taken_away(make_world, found):
    world = make_world(active=found == "by the watch", delete_topic_enable=False)
    world.write_topic("t", (1, 2))
    world.marked.add("t")
    world.run(*([TopicChange(), TopicDeletion()] if found == "by the watch" else [Startup()]))
    assert world.marked == set()
    assert world.context.topics_to_delete == set()
    assert deletes(world) == set()
    assert "t" in world.topics


def test_a_dead_broker_holds_the_topic_until_it_returns(world):
    world.remove(3)
    world.run(BrokerChange())
    world.marked.add("t")
    yielded = world.run(TopicDeletion())
    assert deletes(world, yielded) == {(1, T0), (2, T0), (2, T1)}
    assert "deletion halted, because of offline replicas: t" in world.reasons(yielded)
    world.run(answered(world, 1, T0), answered(world, 2, T0, T1))
    assert "t" in world.topics
    assert states(world)[3, T1] is R.OFFLINE, "ready for another try"
    world.register(3)
    yielded = world.run(BrokerChange())
    assert deletes(world, yielded) == {(3, T1)}, "what is deleted is not deleted again"
    world.run(answered(world, 3, T1))
    assert_gone(world)


def test_a_broker_that_dies_before_it_answers_fails_its_replicas(world):
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1))
    world.remove(3)
    yielded = world.run(BrokerChange())
    assert "deletion halted, because of replicas whose deletion failed: t" in world.reasons(yielded)
    world.register(3)
    assert deletes(world, world.run(BrokerChange())) == {(3, T1)}
    world.run(answered(world, 3, T1))
    assert_gone(world)


def test_kafka_7235_a_previous_incarnation_has_deleted_nothing(world):
    """A broker that bounced unseen is asked anew; its former life's late word is nothing."""
    world.marked.add("t")
    world.run(TopicDeletion())
    former = world.brokers[BrokerId(3)].epoch
    world.register(3)
    yielded = world.run(BrokerChange(), answered(world, 1, T0), answered(world, 2, T0, T1))
    assert deletes(world, yielded) == {(3, T1)}
    (stop,) = [e for e in world.sent(SendStopReplica, yielded) if e.request.partitions[0].delete]
    assert stop.request.broker_epoch == world.brokers[BrokerId(3)].epoch > former
    world.run(answered(world, 3, T1, epoch=former))
    assert states(world)[3, T1] is R.DELETION_STARTED


def test_a_replica_that_cannot_be_deleted_waits_for_its_broker_to_return(world):
    world.marked.add("t")
    yielded = world.run(TopicDeletion(), answered(world, 2, T0, T1), answered(world, 3, T1))
    yielded = world.run(answered(world, 1, T0, error=ErrorCode.KAFKA_STORAGE_ERROR))
    assert "deletion halted, because of replicas whose deletion failed: t" in world.reasons(yielded)
    assert deletes(world, yielded) == set(), "not tried for ever"
    world.register(1)
    yielded = world.run(BrokerChange())
    assert deletes(world, yielded) == {(1, T0)}
    world.run(answered(world, 1, T0))
    assert_gone(world)


def test_one_answer_may_say_both(world):
    world.marked.add("t")
    world.run(TopicDeletion())
    errors = {T0: ErrorCode.KAFKA_STORAGE_ERROR, T1: ErrorCode.NONE}
    both = TopicDeletionStopReplicaResponseReceived(BrokerId(2), world.brokers[BrokerId(2)].epoch, errors)
    world.run(both)
    assert states(world)[2, T0] is R.DELETION_INELIGIBLE
    assert states(world)[2, T1] is R.DELETION_SUCCESSFUL


def refused(world, number, tp):
    response = LeaderAndIsrResponse(ErrorCode.NONE, {tp: ErrorCode.KAFKA_STORAGE_ERROR})
    return LeaderAndIsrResponseReceived(BrokerId(number), world.brokers[BrokerId(number)].epoch, response)


def test_a_failed_log_directory_fails_the_deletion(world):
    world.marked.add("t")
    world.run(TopicDeletion())
    world.run(refused(world, 3, T1))
    assert states(world)[3, T1] is R.DELETION_STARTED
    world.run(answered(world, 3, T1, error=ErrorCode.KAFKA_STORAGE_ERROR))
    assert states(world)[3, T1] is R.DELETION_INELIGIBLE
    assert world.context.topics_ineligible_for_deletion == {"t"}


def test_a_topic_whose_log_is_lost_can_be_deleted(world):
    """A broker that refuses a partition without its log has nothing to delete, and holds nothing up."""
    world.run(refused(world, 3, T1))
    assert not world.context.is_online(BrokerId(3), T1)
    world.marked.add("t")
    yielded = world.run(TopicDeletion())
    assert (3, T1) in {(each[0], each[1]) for each in deletes(world, yielded)}
    world.run(answered(world, 3, T1))
    assert states(world)[3, T1] is R.DELETION_SUCCESSFUL


def test_an_answer_about_a_topic_that_is_not_being_deleted_is_nothing(world):
    before = states(world)
    assert world.run(answered(world, 1, T0)) == []
    assert states(world) == before


def test_a_topic_being_reassigned_waits_for_its_end(world):
    world.context.assign(T0, Assignment((BrokerId(1), BrokerId(2)), adding=(BrokerId(2),)))
    world.marked.add("t")
    yielded = world.run(TopicDeletion())
    assert "deletion halted, because of a reassignment in progress: t" in world.reasons(yielded)
    assert deletes(world, yielded) == set()
    world.context.assign(T0, Assignment((BrokerId(1), BrokerId(2))))
    world.drive(topic_deletion.resume_deletion_for_topics(world.context, {"t"}))
    assert len(deletes(world)) == 4


def test_only_queued_topics_are_halted_and_resumed(world):
    assert (
        list(
            topic_deletion.mark_topic_ineligible_for_deletion(
                world.context, ["t"], topic_deletion.REASSIGNMENT
            )
        )
        == []
    )
    assert list(topic_deletion.resume_deletion_for_topics(world.context, ["t"])) == []
    assert world.context.topics_ineligible_for_deletion == set()


def test_a_new_controller_goes_on_with_what_is_marked(make_world):
    world = make_world(active=False)
    world.write_topic("t", (1, 2), (2, 3))
    for tp, replicas in ((T0, (1, 2)), (T1, (2, 3))):
        world.write_state(tp, replicas[0], replicas)
    world.marked.add("t")
    yielded = world.run(Startup())
    assert deletes(world, yielded) == {(1, T0), (2, T0), (2, T1), (3, T1)}
    world.run(answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    assert_gone(world)


def test_a_new_controller_waits_for_a_broker_that_is_away(make_world):
    world = make_world(1, 2, active=False)
    world.write_topic("t", (1, 2), (2, 3))
    world.marked.add("t")
    yielded = world.run(Startup())
    assert "deletion halted, because of offline replicas: t" in world.reasons(yielded)
    assert deletes(world, yielded) == set()
    world.register(3)
    world.run(BrokerChange())
    world.run(answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    assert_gone(world)


def test_a_new_controller_finishes_what_a_former_one_began_to_take_away(make_world):
    """The node is gone, its mark is left: the former controller died in between."""
    world = make_world(active=False)
    world.marked.add("t")
    world.run(Startup())
    assert world.marked == set()
    assert world.sent(LogStateChange) != []


def test_a_replica_without_a_state_in_zookeeper_does_not_hold_the_topic_for_ever(world):
    del world.states[T1]
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    assert_gone(world)


def test_a_topic_that_is_being_deleted_gets_no_partitions(world):
    world.marked.add("t")
    world.remove(3)
    world.run(BrokerChange(), TopicDeletion())
    before = dict(world.topics["t"])
    world.topics["t"][2] = Assignment((BrokerId(1),))
    yielded = world.run(PartitionModifications("t"))
    assert world.topics["t"] == before
    assert "topic t is being deleted and gets no partitions: 2" in world.reasons(yielded)
    assert world.run(PartitionModifications("t")) == [], "the node as it was is no news"


def test_a_mark_that_cannot_be_removed_keeps_no_topic_from_its_deletion(world):
    """Somebody made a node below a mark of no topic: the removal fails, each time."""
    world.marked |= {"t", "spoiled"}
    world.failures[RemoveTopicDeletions] = RuntimeError("the node has children")
    with pytest.raises(RuntimeError, match="children"):
        world.run(TopicDeletion())
    world.run(answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    assert "t" not in world.topics


def test_what_was_never_led_of_a_topic_that_is_being_deleted_stays_in_its_node(make_world):
    """Its node is written as it was: a partition is known by it, whether or not it ever had a leader."""
    world = make_world()
    world.write_topic("t", (9,))
    world.marked.add("t")
    world.run(TopicChange(), TopicDeletion())
    before = dict(world.topics["t"])
    world.topics["t"][1] = Assignment((BrokerId(1),))
    world.run(PartitionModifications("t"))
    assert world.topics["t"] == before


def test_a_topic_taken_away_by_hand_is_forgotten_whole(world):
    world.marked.add("t")
    world.run(TopicDeletion())
    del world.topics["t"]
    world.run(TopicChange())
    assert world.context.topics_to_delete == set()
    assert world.context.topics_with_deletion_started == set()


def test_a_controller_that_was_replaced_deletes_nothing(world):
    """KAFKA-6082 for deletions: the last answer comes when another has been elected."""
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1))
    world.epoch += 1
    world.run(answered(world, 3, T1))
    assert "t" in world.topics
    assert "t" in world.marked


@pytest.mark.parametrize("source", R, ids=str)
@pytest.mark.parametrize("online", [True, False], ids=["online", "offline"])
def test_from_every_state_a_deletion_takes_a_replica_where_the_table_leads(world, source, online):
    """An online replica goes by Offline to Started where the table has that way, others to Ineligible."""
    one = PartitionReplica(T1, BrokerId(3))
    if not online:
        del world.context.brokers[BrokerId(3)]
    world.context.replica_states[one] = source
    world.context.topics_to_delete.add("t")
    world.drive(topic_deletion.resume_deletions(world.context))
    if source is R.DELETION_STARTED:
        expected = source, "an answer is being waited for"
    elif online and (source is R.DELETION_SUCCESSFUL or (source, R.OFFLINE) not in REPLICA_TRANSITIONS):
        expected = source, "done already, or no way there"
    elif online:
        expected = R.DELETION_STARTED, "yielded to delete"
    elif source in (R.OFFLINE, R.DELETION_INELIGIBLE):
        expected = R.DELETION_INELIGIBLE, "to be tried again"
    else:
        expected = source, "the table has no way from there to ineligible"
    assert world.context.replica_states[one] is expected[0], expected[1]
    assert ("t" in world.context.topics_ineligible_for_deletion) == (
        not online and source is not R.DELETION_STARTED
    )


def test_the_topic_is_deleted_under_the_controller_epoch(world):
    world.marked.add("t")
    world.run(TopicDeletion(), answered(world, 1, T0), answered(world, 2, T0, T1), answered(world, 3, T1))
    assert world.questions[-1] == DeleteTopic("t", world.context.fence)


def deletion_waits_for_a_dead_broker(world, transcript):
    world.write_topic("orders", (2, 3, 1))
    orders = TopicPartition("orders", 0)
    transcript.happens("broker 1 starts and finds a topic", Startup())
    world.remove(3)
    transcript.happens("broker 3 dies", BrokerChange())
    request = CommandReceived(1, DeleteTopics(("orders", "ghost")))
    transcript.happens("a client asks for the end of two topics, of which one is there", request)
    transcript.happens("the watch on /admin/delete_topics fires", TopicDeletion())
    yielded = answered(world, 1, orders), answered(world, 2, orders)
    transcript.happens("brokers 1 and 2 have deleted their replicas", *yielded)
    world.topics["orders"][1] = world.topics["orders"][0]
    transcript.happens("somebody adds a partition by hand", PartitionModifications("orders"))
    world.register(3)
    transcript.happens("broker 3 is back", BrokerChange())
    transcript.happens("broker 3 has deleted its replica", answered(world, 3, orders))


def test_the_story_as_prose(make_world, transcript, request):
    world = make_world(active=False)
    yielded = transcript(world)
    deletion_waits_for_a_dead_broker(world, yielded)
    path = Path(__file__).parents[4] / "transcripts" / "deletion_waits_for_a_dead_broker.txt"
    text = "\n".join(yielded.text)
    if request.config.getoption("--regenerate"):
        path.write_text(text)
    assert text == path.read_text(), "decided otherwise; if that is meant, run pytest with --regenerate"
