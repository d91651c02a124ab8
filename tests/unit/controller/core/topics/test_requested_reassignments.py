from __future__ import annotations

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.topics.effects import (
    ReadReassignments,
    RequestedReassignments,
    WriteReassignments,
)
from barnabas.controller.core.topics.requested_reassignments import read_requests, withdraw

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def test_without_a_node_nothing_is_asked_for(make_world):
    world = make_world()
    assert world.drive(read_requests()) is None
    world.drive(withdraw(world.context, lambda *_: True))
    assert not [q for q in world.questions if isinstance(q, WriteReassignments)]


def test_an_entry_is_taken_out_by_partition_and_target(make_world):
    world = make_world()
    world.ask_for(t_0=(1, 2), t_1=(2, 3))
    world.drive(withdraw(world.context, lambda tp, target: tp == T0 and target == (9,)))
    assert dict(world.requested.targets) == {T0: (1, 2), T1: (2, 3)}
    world.drive(withdraw(world.context, lambda tp, target: tp == T0 and target == (1, 2)))
    assert dict(world.requested.targets) == {T1: (2, 3)}
    world.drive(withdraw(world.context, lambda *_: True))
    assert world.requested is None


def test_what_is_added_at_the_same_moment_stays(make_world):
    world = make_world()
    world.ask_for(t_0=(1, 2))
    stale = RequestedReassignments(world.requested.targets, 0)
    world.requested = RequestedReassignments({T0: (1, 2), T1: (2, 3)}, 5)
    answers = iter((stale, world.requested))
    world.answers[ReadReassignments] = lambda _: next(answers)
    world.drive(withdraw(world.context, lambda tp, _: tp == T0))
    assert dict(world.requested.targets) == {T1: (2, 3)}
