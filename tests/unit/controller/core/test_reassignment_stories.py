"""Reassignments as prose, with the controller lost in the middle of each phase (``tests/transcripts``)."""

from __future__ import annotations

from pathlib import Path

import pytest

from cluster.model.commands_reassignment import AlterPartitionReassignments
from cluster.model.ids import TopicPartition
from cluster.model.partition import Assignment
from controller.core import effects, effects_topics
from controller.core.effects import NO_CONTROLLER, Interruption
from controller.core.inputs import (
    AlterPartitionReassignmentsRequested,
    Expire,
    PartitionReassignmentIsrChange,
    Startup,
    ZkPartitionReassignment,
)

T0 = TopicPartition("t", 0)
CHANGE = PartitionReassignmentIsrChange(T0)


def begin(world, transcript):
    world.write_topic("t", (1, 2))
    world.write_state(T0, 1, (1, 2))
    transcript.happens("broker 1 of four starts and becomes the controller", Startup())


def expire_at(world, kind):
    """The next question of that kind finds the session expired."""
    world.interruptions[kind] = Interruption.SESSION_EXPIRED


def succeed(world, transcript, what):
    world.controller, world.owns_controller = NO_CONTROLLER, False
    transcript.happens(what, Expire(), Startup())


def catch_up(world, *isr):
    known = world.leadership(T0)
    world.write_state(T0, known.leader, isr, known.leader_epoch)


def reassignment_by_znode_survives_a_failover_in_each_phase(world, transcript):
    begin(world, transcript)
    world.ask_for(t_0=(3, 4))
    expire_at(world, effects_topics.WriteAssignment)
    transcript.happens(
        "a person asks for t-0 on 3 and 4; phase U: the session expires before the topic is written",
        ZkPartitionReassignment(),
    )
    expire_at(world, effects.WritePartitionStates)
    succeed(
        world,
        transcript,
        "the next controller takes it up; phase A: lost before the new leader epoch is written",
    )
    succeed(
        world, transcript, "the next controller finds the union in the topic's node and tells the replicas"
    )
    catch_up(world, 1, 2, 3, 4)
    expire_at(world, effects_topics.WriteAssignment)
    transcript.happens(
        "brokers 3 and 4 are in sync; phase B: the old replicas are let go, the final assignment is not "
        "written",
        CHANGE,
    )
    succeed(world, transcript, "the next controller does phase B again, and completes it")
    assert world.topics["t"][0] == Assignment((3, 4))
    assert set(world.leadership(T0).isr) == {3, 4}
    assert world.requested is None


def reassignment_cancelled(world, transcript):
    begin(world, transcript)
    move = AlterPartitionReassignments({T0: (3, 4, 2)})
    transcript.happens(
        "t-0 is to move from 1 and 2 to 3, 4 and 2", AlterPartitionReassignmentsRequested(1, move)
    )
    world.write_state(T0, 3, (2, 3), world.leadership(T0).leader_epoch + 1)
    transcript.happens(
        "broker 3 leads already, broker 1 has fallen behind, and broker 4 has not caught up", CHANGE
    )
    cancel = AlterPartitionReassignments({T0: None})
    transcript.happens("the move is cancelled", AlterPartitionReassignmentsRequested(2, cancel))
    assert set(world.topics["t"][0].replicas) == {1, 2}
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2,))


STORIES = [reassignment_by_znode_survives_a_failover_in_each_phase, reassignment_cancelled]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_story_goes_as_its_transcript_says(make_world, transcript, story, request):
    world = make_world(1, 2, 3, 4, active=False, traces=False)
    written = transcript(world)
    story(world, written)
    path = Path(__file__).parents[3] / "transcripts" / f"{story.__name__}.txt"
    text = "\n".join(written.text)
    if request.config.getoption("--regenerate"):
        path.write_text(text)
    assert text == path.read_text(), "decided otherwise; if that is meant, run pytest with --regenerate"
