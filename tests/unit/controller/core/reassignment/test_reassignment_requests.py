"""Who asks for a reassignment, what is refused, and what a new controller makes of what it finds."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.partitions.effects import WritePartitionStates
from barnabas.controller.core.protocol.effects import (
    NO_CONTROLLER,
    Interruption,
    Reply,
    SendLeaderAndIsr,
    SendStopReplica,
)
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    ControllerChange,
    Expire,
    PartitionReassignmentIsrChange,
    Startup,
    TopicChange,
    ZkPartitionReassignment,
)
from barnabas.controller.core.reassignment.reassignment_requests import plan
from barnabas.controller.core.topics.effects import WriteAssignment
from barnabas.controller.core.topics.topic_validation import Refusal

T0, T1, NEVER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("never", 0)
E = ErrorCode
MOVING = Assignment((4, 1, 2), (4,), (1,))


@pytest.mark.parametrize(
    ("current", "target", "found"),
    [
        (Assignment((1, 2)), (4, 2), Assignment((4, 2, 1), (4,), (1,))),
        (MOVING, (1, 2), Assignment((1, 2))),
        (MOVING, None, Assignment((1, 2))),
        (Assignment((1, 2)), None, E.NO_REASSIGNMENT_IN_PROGRESS),
        (Assignment(()), None, E.NO_REASSIGNMENT_IN_PROGRESS),
        (Assignment((1, 2)), (), E.INVALID_REPLICA_ASSIGNMENT),
        (Assignment((1, 2)), (2, 2), E.INVALID_REPLICA_ASSIGNMENT),
        (Assignment((1, 2)), (2, -1), E.INVALID_REPLICA_ASSIGNMENT),
        (Assignment((1, 2)), (2, 9), E.INVALID_REPLICA_ASSIGNMENT),
        # A dead broker that is a replica already may stay one.
        (Assignment((1, 9)), (9, 2), Assignment((9, 2, 1), (2,), (1,))),
    ],
)
def test_plans(current, target, found):
    planned = plan(T0, current, target, live={1, 2, 3, 4})
    assert (planned.error if isinstance(planned, Refusal) else planned) == found


brokers = st.integers(-1, 6)


@given(st.lists(brokers, max_size=4).map(tuple), st.sets(brokers))
def test_a_plan_is_made_or_refused_by_the_rules_one_by_one(target, live):
    current = Assignment((1, 2, 3))
    bad = (
        len(target) == 0
        or any(target.count(broker) > 1 for broker in target)
        or any(broker < 0 for broker in target)
        or any(broker not in live and broker not in (1, 2, 3) for broker in target)
    )
    assert isinstance(plan(T0, current, target, live), Refusal) is bad


def test_where_no_brokers_are_named_new_replicas_may_be_anywhere():
    assert plan(T0, Assignment((1, 2)), (9,)) == Assignment((9, 1, 2), (9,), (1, 2))


def test_a_refusal_names_partition_and_brokers():
    refusal = plan(T0, Assignment((1, 2)), (8, 2, 9), live={1, 2})
    assert refusal.message == "The replica list 8,2,9 of partition t-0 adds brokers that are not alive: 8,9."


@pytest.fixture
def world(make_world):
    world = make_world(1, 2, 3, 4, 5)
    world.write_topic("t", (1, 2), (2, 3))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


def alter(world, targets):
    world.run(CommandReceived(7, AlterPartitionReassignments(targets)))
    (reply,) = world.sent(Reply)
    world.effects.remove(reply)
    assert reply.token == 7
    return {tp: result.error for tp, result in reply.result.partitions.items()}


def running(world, *partitions):
    named = partitions or None
    world.run(CommandReceived(8, ListPartitionReassignments(named)))
    (reply,) = world.sent(Reply)
    world.effects.remove(reply)
    return dict(reply.result.reassignments)


# The API


def test_each_partition_is_answered_for_itself_in_the_order_of_the_request(world):
    errors = alter(world, {NEVER: (1,), T1: (2, 4), T0: (9,)})
    assert list(errors.items()) == [
        (NEVER, E.UNKNOWN_TOPIC_OR_PARTITION),
        (T1, E.NONE),
        (T0, E.INVALID_REPLICA_ASSIGNMENT),
    ]
    assert running(world) == {T1: Assignment((2, 4, 3), (4,), (3,))}
    assert any("never-0 refused with UNKNOWN_TOPIC_OR_PARTITION" in reason for reason in world.reasons())


def test_one_that_fails_costs_itself_alone_and_can_be_asked_for_again(world):
    """KAFKA-9089 by the API: its caller hears which one it was."""
    spoiled = RuntimeError("no right to write /brokers/topics/t")
    world.answers[WriteAssignment] = lambda asked: (
        spoiled if asked.after[0] != asked.before[0] else world.answer_reassignment(asked)
    )
    assert alter(world, {T0: (4, 2), T1: (4, 2)}) == {T0: E.UNKNOWN_SERVER_ERROR, T1: E.NONE}
    assert list(running(world)) == [T1]
    del world.answers[WriteAssignment]
    assert alter(world, {T0: (4, 2)}) == {T0: E.NONE}


def test_only_the_partitions_named_are_listed(world):
    alter(world, {T0: (4, 2), T1: (4, 3)})
    assert list(running(world)) == [T0, T1]
    assert list(running(world, T1, NEVER)) == [T1]


def test_a_running_reassignment_can_be_cancelled_once(world):
    alter(world, {T0: (4, 5)})
    assert alter(world, {T0: None}) == {T0: E.NONE}
    assert world.topics["t"][0] == Assignment((1, 2))
    assert alter(world, {T0: None}) == {T0: E.NO_REASSIGNMENT_IN_PROGRESS}


def test_a_topic_that_is_being_deleted_is_not_reassigned(world):
    world.context.topics_to_delete.add("t")
    world.context.topics_ineligible_for_deletion.add("t")
    assert alter(world, {T0: (4, 2)}) == {T0: E.UNKNOWN_TOPIC_OR_PARTITION}
    assert world.topics["t"][0] == Assignment((1, 2))


def test_the_api_has_the_last_word_over_the_znode(world):
    world.ask_for(t_0=(4, 5), t_1=(4, 5))
    world.run(ZkPartitionReassignment())
    alter(world, {T0: (3, 2)})
    assert dict(world.requested.targets) == {T1: (4, 5)}
    assert running(world)[T0].target == (3, 2)


def test_one_that_is_refused_leaves_the_znode_as_it_is(world):
    world.ask_for(t_0=(4, 5))
    world.run(ZkPartitionReassignment())
    alter(world, {T0: (9,)})
    assert dict(world.requested.targets) == {T0: (4, 5)}


# The znode


def catch_up(world, tp, *isr):
    known = world.leadership(tp)
    world.write_state(tp, known.leader, isr, known.leader_epoch)
    world.run(PartitionReassignmentIsrChange((tp,)))


def test_the_znode_holds_what_is_not_done_yet(world):
    world.ask_for(t_0=(4, 5), t_1=(4, 5))
    world.run(ZkPartitionReassignment())
    assert set(running(world)) == {T0, T1}
    catch_up(world, T0, 1, 2, 4, 5)
    assert dict(world.requested.targets) == {T1: (4, 5)}
    catch_up(world, T1, 2, 3, 4, 5)
    assert world.requested is None
    assert "taken out of /admin/reassign_partitions: t-1; left there: 0" in world.reasons()


def test_invalid_and_overlapping_entries_go_and_the_good_ones_finish(world):
    """KAFKA-9478 and KAFKA-9089: a zombie entry blocked every later one, and one error dropped all."""
    alter(world, {T1: (2, 4)})
    world.ask_for(t_0=(4, 5), never_0=(1,), t_1=(9, 9))
    world.run(ZkPartitionReassignment())
    assert dict(world.requested.targets) == {T0: (4, 5)}
    assert running(world)[T1].target == (2, 4)
    catch_up(world, T0, 1, 2, 4, 5)
    assert world.requested is None
    world.ask_for(t_0=(1, 2))
    world.run(ZkPartitionReassignment())
    assert running(world)[T0].target == (1, 2)


def test_an_entry_for_dead_brokers_waits_for_them(world):
    """As in Kafka: tools of old do not know who is alive."""
    world.remove(5)
    world.run(BrokerChange())
    world.ask_for(t_0=(5, 6), t_1=(4, 3))
    world.run(ZkPartitionReassignment())
    assert running(world)[T0] == Assignment((5, 6, 1, 2), (5, 6), (1, 2))
    catch_up(world, T1, 2, 3, 4)
    assert dict(world.requested.targets) == {T0: (5, 6)}, "the others do not wait"
    for number in (5, 6):
        world.register(number)
        yielded = world.run(BrokerChange())
        requests = [e.request for e in world.sent(SendLeaderAndIsr, yielded) if e.broker_id == number][-1]
        assert [(p.topic_partition, p.is_new) for p in requests.partitions] == [(T0, True)]
    catch_up(world, T0, 1, 2, 5, 6)
    assert world.topics["t"][0] == Assignment((5, 6))
    assert world.requested is None


def test_an_entry_for_brokers_that_never_come_outlives_a_controller_and_can_be_cancelled(world):
    world.ask_for(t_0=(8, 9))
    world.run(ZkPartitionReassignment())
    succeed(world)
    assert running(world) == {T0: Assignment((8, 9, 1, 2), (8, 9), (1, 2))}
    assert alter(world, {T0: None}) == {T0: E.NONE}
    assert world.topics["t"][0] == Assignment((1, 2))
    assert world.leadership(T0).isr == (1, 2)
    assert world.requested is None


def test_an_entry_for_what_is_not_there_is_refused_as_unknown_wherever_it_is_to_go(world):
    world.ask_for(never_0=(8,), t_9=(1,))
    yielded = world.run(ZkPartitionReassignment())
    refused = [reason for reason in world.reasons(yielded) if "refused with" in reason]
    assert len(refused) == 2
    assert all("UNKNOWN_TOPIC_OR_PARTITION" in reason for reason in refused)
    assert world.requested is None


def test_a_change_of_the_znode_disturbs_nothing_that_runs(world):
    world.ask_for(t_0=(4, 5))
    world.run(ZkPartitionReassignment())
    before = dict(world.states)
    world.run(ZkPartitionReassignment())
    assert world.states == before


def test_an_entry_that_is_added_later_is_noticed(world):
    world.ask_for(t_0=(4, 5))
    world.run(ZkPartitionReassignment())
    world.ask_for(t_0=(4, 5), t_1=(4, 3))
    world.run(ZkPartitionReassignment())
    assert set(running(world)) == {T0, T1}


def test_an_unreadable_znode_is_deleted(world):
    world.ask_for()
    world.run(ZkPartitionReassignment())
    assert world.requested is None


def test_an_entry_for_what_is_so_already_goes(world):
    world.ask_for(t_0=(1, 2))
    world.run(ZkPartitionReassignment())
    assert world.requested is None
    assert world.topics["t"][0] == Assignment((1, 2))


def test_without_a_znode_there_is_nothing_to_do(world):
    assert world.run(ZkPartitionReassignment()) == []


# A new controller


def succeed(world):
    """This broker loses the controllership and wins it back: it knows only what stands in ZooKeeper."""
    world.controller, world.owns_controller = NO_CONTROLLER, False
    world.run(ControllerChange())
    assert world.context.is_active


def test_a_new_controller_goes_on_with_what_runs(world):
    alter(world, {T0: (4, 5)})
    succeed(world)
    assert running(world) == {T0: Assignment((4, 5, 1, 2), (4, 5), (1, 2))}
    catch_up(world, T0, 1, 2, 4, 5)
    assert world.topics["t"][0] == Assignment((4, 5))


def new_to(world, broker):
    """What that broker was sent of t-0 since the effects were cleared: whether it is new."""
    return [
        partition.is_new
        for sent in world.sent(SendLeaderAndIsr)
        for partition in sent.request.partitions
        if sent.broker_id == broker and partition.topic_partition == T0
    ]


def test_a_replica_being_added_is_new_to_the_controller_that_began_alone(world):
    """A successor cannot know that it has no log: it may be in the ISR, and its directory offline."""
    alter(world, {T0: (4, 5)})
    assert True in new_to(world, 4)
    catch_up(world, T0, 1, 2, 4)
    world.effects.clear()
    succeed(world)
    assert new_to(world, 4)
    assert True not in new_to(world, 4)


def test_a_replica_being_added_that_comes_back_is_not_new(world):
    alter(world, {T0: (4, 5)})
    world.remove(4)
    world.register(4)
    world.effects.clear()
    world.run(BrokerChange())
    assert new_to(world, 4)
    assert True not in new_to(world, 4)


def test_a_new_controller_completes_what_became_complete_while_there_was_none(world):
    alter(world, {T0: (4, 5)})
    known = world.leadership(T0)
    world.write_state(T0, 1, (1, 2, 4, 5), known.leader_epoch)
    succeed(world)
    assert world.topics["t"][0] == Assignment((4, 5))
    assert set(world.leadership(T0).isr) == {4, 5}


def test_a_new_controller_takes_up_what_was_asked_while_there_was_none(make_world):
    world = make_world(1, 2, 3, active=False)
    world.write_topic("t", (1, 2))
    world.write_state(T0, 1, (1, 2))
    world.ask_for(t_0=(3, 2))
    world.run(Startup())
    assert running(world) == {T0: Assignment((3, 2, 1), (3,), (1,))}


def test_a_new_controller_resumes_before_it_deletes(world):
    alter(world, {T0: (4, 5)})
    known = world.leadership(T0)
    world.write_state(T0, 1, (1, 2, 4, 5), known.leader_epoch)
    world.marked.add("t")
    succeed(world)
    stops = [p for sent in world.sent(SendStopReplica) for p in sent.request.partitions]
    assert {p.topic_partition for p in stops if p.delete} == {T0, T1}
    assert not running(world)


# Stories as prose, with the controller lost in the middle of each phase: tests/transcripts.


def begin(world, transcript):
    world.write_topic("t", (1, 2))
    world.write_state(T0, 1, (1, 2))
    transcript.happens("broker 1 of four starts and becomes the controller", Startup())


def expire_at(world, kind):
    """The next question of that kind finds the session expired."""
    world.interruptions[kind] = Interruption.SESSION_EXPIRED


def succeeds(world, transcript, what):
    world.controller, world.owns_controller = NO_CONTROLLER, False
    transcript.happens(what, Expire(), Startup())


def reassignment_by_znode_survives_a_failover_in_each_phase(world, transcript):
    begin(world, transcript)
    world.ask_for(t_0=(3, 4))
    expire_at(world, WriteAssignment)
    transcript.happens(
        "a person asks for t-0 on 3 and 4; phase U: the session expires before the topic is written",
        ZkPartitionReassignment(),
    )
    expire_at(world, WritePartitionStates)
    succeeds(
        world,
        transcript,
        "the next controller takes it up; phase A: lost before the new leader epoch is written",
    )
    succeeds(
        world, transcript, "the next controller finds the union in the topic's node and tells the replicas"
    )
    world.write_state(T0, 1, (1, 2, 3, 4), world.leadership(T0).leader_epoch)
    expire_at(world, WriteAssignment)
    transcript.happens(
        "brokers 3 and 4 are in sync; phase B: the old replicas are let go, the final assignment is not "
        "written",
        PartitionReassignmentIsrChange((T0,)),
    )
    succeeds(world, transcript, "the next controller does phase B again, and completes it")
    assert world.topics["t"][0] == Assignment((3, 4))
    assert set(world.leadership(T0).isr) == {3, 4}
    assert world.requested is None


def reassignment_cancelled(world, transcript):
    begin(world, transcript)
    move = AlterPartitionReassignments({T0: (3, 4, 2)})
    transcript.happens("t-0 is to move from 1 and 2 to 3, 4 and 2", CommandReceived(1, move))
    world.write_state(T0, 3, (2, 3), world.leadership(T0).leader_epoch + 1)
    transcript.happens(
        "broker 3 leads already, broker 1 has fallen behind, and broker 4 has not caught up",
        PartitionReassignmentIsrChange((T0,)),
    )
    cancel = AlterPartitionReassignments({T0: None})
    transcript.happens("the move is cancelled", CommandReceived(2, cancel))
    assert set(world.topics["t"][0].replicas) == {1, 2}
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2,))


STORIES = [reassignment_by_znode_survives_a_failover_in_each_phase, reassignment_cancelled]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_story_goes_as_its_transcript_says(make_world, transcript, story, request):
    world = make_world(1, 2, 3, 4, active=False, traces=False)
    written = transcript(world)
    story(world, written)
    path = Path(__file__).parents[4] / "transcripts" / f"{story.__name__}.txt"
    text = "\n".join(written.text)
    if request.config.getoption("--regenerate"):
        path.write_text(text)
    assert text == path.read_text(), "decided otherwise; if that is meant, run pytest with --regenerate"
