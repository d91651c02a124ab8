"""Reassignments of many partitions: they share writes, requests and events."""

from __future__ import annotations

import pytest

from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment
from barnabas.controller.core.protocol.effects import (
    Reply,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
)
from barnabas.controller.core.protocol.inputs import (
    CommandReceived,
    PartitionReassignmentIsrChange,
    TopicChange,
    ZkPartitionReassignment,
)
from barnabas.controller.core.reassignment.partition_reassignment import running
from barnabas.controller.core.topics.effects import WriteAssignment

T0, T1, NEVER = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("never", 0)
E = ErrorCode


@pytest.fixture
def world(make_world):
    world = make_world(1, 2, 3, 4, 5)
    world.write_topic("t", (1, 2), (2, 3))
    world.run(TopicChange())
    world.effects.clear()
    return world


def alter(world, targets):
    world.run(CommandReceived(7, AlterPartitionReassignments(targets)))
    (reply,) = world.sent(Reply)
    world.effects.remove(reply)
    return {tp: result.error for tp, result in reply.result.partitions.items()}


@pytest.fixture
def written(world):
    """The partitions that each write of a topic's assignment has changed."""
    changes = []

    def write(asked):
        changes.append([number for number in asked.after if asked.after[number] != asked.before.get(number)])
        return world.answer_reassignment(asked)

    world.answers[WriteAssignment] = write
    return changes


def test_partitions_of_one_topic_are_written_together(world, written):
    """A write for each, of the whole topic, took two minutes for 10,000 partitions."""
    assert alter(world, {T0: (4, 2), T1: (4, 3), NEVER: (1,)}) == {
        T0: E.NONE,
        T1: E.NONE,
        NEVER: E.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert written == [[0, 1]]
    assert running(world.context) == [T0, T1]
    assert alter(world, {T0: None, T1: None}) == {T0: E.NONE, T1: E.NONE}
    assert written == [[0, 1], [0, 1]]


def test_a_partition_whose_state_is_gone_holds_no_other(world):
    del world.states[T1]
    alter(world, {T0: (4, 2), T1: (4, 3)})
    (failed,) = (line for line in world.lines() if "Failed to send LeaderAndIsr request" in line)
    (sent,) = (line for line in world.lines() if "Sent LeaderAndIsr request" in line and "reassigned" in line)
    assert "t-1" in failed
    assert "t-0" in sent


def test_many_partitions_cost_no_more_questions_and_requests_than_one(make_world):
    """Three round trips to ZooKeeper and two requests to each broker for each of 10,000 took minutes."""
    counts = []
    for count in (1, 40):
        world = make_world(1, 2, 3)
        tps = [TopicPartition(topic, number) for topic in ("t", "u") for number in range(count)]
        for topic in ("t", "u"):
            world.write_topic(topic, *[(1, 2)] * count)
        world.run(TopicChange())
        counts.append([])

        def happens(what, world=world, tps=tps):
            world.questions.clear()
            world.effects.clear()
            world.run(what)
            requests = [*world.sent(SendLeaderAndIsr), *world.sent(SendStopReplica)]
            sent = {each.topic_partition for one in requests for each in one.request.partitions}
            assert sent == set(tps)
            counts[-1].append((len(world.questions), len(requests), len(world.sent(SendUpdateMetadata))))

        def asked(target, tps=tps):
            return CommandReceived(7, AlterPartitionReassignments(dict.fromkeys(tps, target)))

        happens(asked((3, 2)))
        happens(asked(None))
        happens(asked((3, 2)))
        for tp in tps:
            known = world.leadership(tp)
            world.write_state(tp, known.leader, (1, 2, 3), known.leader_epoch)
        happens(PartitionReassignmentIsrChange(tuple(tps)))
        assert {tp: world.context.assignment(tp) for tp in tps} == dict.fromkeys(tps, Assignment((3, 2)))
    assert counts[0] == counts[1]


def test_entries_of_the_znode_are_written_together(world, written):
    world.ask_for(t_0=(4, 2), t_1=(4, 3))
    world.run(ZkPartitionReassignment())
    assert written == [[0, 1]]
    assert running(world.context) == [T0, T1]


def test_what_was_added_behind_the_controller_stays(world, written):
    world.topics["t"] = {**world.topics["t"], 2: Assignment((1,))}
    assert alter(world, {T0: (4, 2), T1: (4, 3)}) == {T0: E.NONE, T1: E.NONE}
    assert written == [[0, 1], [0, 1]]
    assert set(world.topics["t"]) == {0, 1, 2}
