from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from barnabas.cluster.model.epochs import ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.cluster.model.statechange.levels import Level
from barnabas.controller.core.context.controller_context import ControllerContext, PartitionReplica
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.election.effects import (
    AnnounceController,
    RecordBrokers,
    RecordEpoch,
    ScheduleReelection,
)
from barnabas.controller.core.leader_elections.effects import (
    CancelLeaderRebalance,
    DeletePreferredReplicaElection,
    ReadPreferredReplicaElection,
    ScheduleLeaderRebalance,
)
from barnabas.controller.core.partitions.effects import (
    CreatePartitionStates,
    ReadPartitionStates,
    WritePartitionStates,
)
from barnabas.controller.core.protocol.broker_znodes import (
    DeleteIsrChanges,
    DeleteLogDirEvents,
    ReadBrokers,
    ReadIsrChanges,
    ReadLogDirEvents,
)
from barnabas.controller.core.protocol.effects import (
    CloseAllChannels,
    Interruption,
    LogElection,
    LogInfo,
    LogStateChange,
    OpenChannel,
    SendLeaderAndIsr,
    SendStopReplica,
    SendUpdateMetadata,
    StopWatching,
)
from barnabas.controller.core.protocol.inputs import Expire, LeaderAndIsrResponseReceived, Startup
from barnabas.controller.core.topics.effects import (
    DeleteTopic,
    ReadAssignments,
    ReadReassignments,
    ReadTopicDeletions,
    ReadTopics,
    RemoveTopicDeletions,
    WriteAssignment,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def taken_over(make_world, *brokers):
    world = make_world(*brokers, active=False)
    world.write_topic("t", (1, 2, 3), (2, 3, 1))
    world.write_state(T0, 1, (1, 2, 3), 4)
    world.write_state(T1, 2, (2, 3), 6)
    return world


def test_brokers_get_the_list_of_brokers_first(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    sends = [e for e in world.effects if isinstance(e, SendUpdateMetadata | SendLeaderAndIsr)]
    assert isinstance(sends[0], SendUpdateMetadata)
    assert sends[0].request.partitions == ()
    assert [broker.id for broker in sends[0].request.live_brokers] == [1, 2, 3]


def test_every_broker_gets_all_it_hosts_and_all_leaders(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    found = {
        e.broker_id: [p.topic_partition for p in e.request.partitions] for e in world.sent(SendLeaderAndIsr)
    }
    assert found == {1: [T0, T1], 2: [T0, T1], 3: [T0, T1]}
    last = world.sent(SendUpdateMetadata)[1]
    assert dict(last.recipients) == {id_: broker.epoch for id_, broker in world.brokers.items()}
    assert [p.topic_partition for p in last.request.partitions] == [T0, T1]


def test_the_last_request_completes_the_metadata(make_world):
    """A broker that has just started waits for that, and not for topics of which nobody tells."""
    world = taken_over(make_world)
    world.write_topic("half", (9,))
    world.write_topic("b@d", (1,))
    world.write_topic("empty")
    world.marked.add("t")
    world.run(Startup())
    complete = [sent for sent in world.sent(SendUpdateMetadata) if sent.request.is_complete]
    assert len(complete) == 1
    assert set(complete[0].recipients) == set(world.brokers)


def test_the_requests_up_to_the_last_name_all_partitions(make_world):
    """Brokers forget what is not named, so those that nobody can lead are named, too."""
    world = taken_over(make_world)
    dead = TopicPartition("dead", 0)
    world.write_topic("dead", (9,))
    world.write_state(dead, -1, (9,))
    world.run(Startup())
    named = [[p.topic_partition for p in e.request.partitions] for e in world.sent(SendUpdateMetadata)]
    assert sorted({tp for each in named for tp in each}) == [dead, T0, T1]
    assert named[-1] == [dead]


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
    assert not [stop for stop in world.sent(SendStopReplica) if stop.broker_id == 3]


def test_a_topic_whose_creation_was_interrupted_is_completed(make_world):
    world = make_world(active=False)
    world.write_topic("half", (2, 3))
    world.run(Startup())
    assert world.leadership(TopicPartition("half", 0)).leader == 2


def test_old_notifications_are_deleted_before_the_states_are_read(make_world):
    world = taken_over(make_world)
    world.notes["isr_change_1"] = (T0,)
    world.run(Startup())
    assert world.notes == {}
    kinds = [type(question) for question in world.questions]
    assert kinds.index(DeleteIsrChanges) < kinds.index(ReadPartitionStates)


def test_it_says_when_it_is_ready(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    assert world.reasons()[-1] == (
        "ready to serve as the controller with epoch 1: 3 brokers, 1 topics, 2 partitions"
    )


def test_a_channel_is_opened_to_each_broker(make_world):
    world = taken_over(make_world)
    world.run(Startup())
    assert [e.broker.id for e in world.sent(OpenChannel)] == [1, 2, 3]


def everything_to_do(make_world):
    """Something for each step: notes, a dead broker, topics to create, elect for, move and delete."""
    world = make_world(1, 2, 3, 4, active=False)
    for topic, *replicas in (("made", 1, 2), ("gone", 1, 2), ("led", 3, 2, 1), ("moved", 1, 2)):
        world.write_topic(topic, tuple(replicas))
    world.write_state(TopicPartition("gone", 0), 1, (1, 2))
    world.write_state(TopicPartition("led", 0), 3, (3, 2, 1))
    world.write_state(TopicPartition("moved", 0), 2, (2, 1))
    world.remove(3)
    world.log_dir_events["log_dir_event_1"] = BrokerId(2)
    world.notes["isr_change_1"] = (TopicPartition("moved", 0),)
    world.marked.add("gone")
    world.ask_for(moved_0=(4, 1))
    world.preferred_election = (TopicPartition("moved", 0),)
    return world


FAILOVER = [
    # 1 is of no release that we are: /feature. 2: each node is watched as it is first read. Not of the page:
    # the record, of the epoch first and of the brokers once all has been done for them.
    (1, RecordEpoch),
    (3, ReadLogDirEvents),
    (3, DeleteLogDirEvents),
    (3, ReadIsrChanges),
    (3, DeleteIsrChanges),
    (4, ReadBrokers),
    (4, ReadTopics),
    (4, ReadAssignments),
    (4, ReadPartitionStates),
    (4, OpenChannel),
    (5, ReadTopicDeletions),
    (6, SendUpdateMetadata),
    # The replicas that are online, then the others.
    (7, SendLeaderAndIsr),
    (7, SendUpdateMetadata),
    (7, WritePartitionStates),
    (7, SendLeaderAndIsr),
    (7, SendUpdateMetadata),
    # The partition whose leader is dead, and the one that never had a state.
    (8, WritePartitionStates),
    (8, CreatePartitionStates),
    (8, SendLeaderAndIsr),
    (8, SendUpdateMetadata),
    (8, RecordBrokers),
    (9, "ready"),
    (9, ReadReassignments),
    (9, WriteAssignment),
    (9, SendStopReplica),
    (9, DeletePreferredReplicaElection),
    (10, ScheduleLeaderRebalance),
    # Not of the page either: the contest is to be forgotten.
    (11, ScheduleReelection),
]
"""docs/kafka/controller.md, Failover: the steps, and what is seen of each; of step 9 only the beginnings."""


def is_ready(effect):
    return isinstance(effect, LogInfo) and effect.line.startswith("ready to serve")


def test_the_steps_of_a_failover_come_in_the_order_of_the_page(make_world):
    world = everything_to_do(make_world)
    said = {LogStateChange, LogInfo, LogElection}
    seen = []

    def note(effect, _answer):
        what = "ready" if is_ready(effect) else type(effect)
        if what not in said and seen[-1:] != [what]:
            seen.append(what)

    world.scribe = note
    world.run(Startup())
    since = seen.index(RecordEpoch)
    ready = seen.index("ready")
    assert seen[since:ready] == [what for step, what in FAILOVER if step < 9]
    places = [seen.index(what, ready) for step, what in FAILOVER if step >= 9]
    assert places == sorted(places)
    assert places[-1] == len(seen) - 1


def test_the_machines_run_up_one_after_the_other(make_world):
    """Step 7, the replicas that are online and then the others; step 8, the partitions."""
    world = everything_to_do(make_world)
    moves = []

    def note(effect, _answer):
        if isinstance(effect, LogStateChange) and "hanged " in effect.line.message:
            moves.append(effect.line.message.rpartition(" to ")[2].partition(" ")[0])
        elif is_ready(effect):
            moves.append("ready")

    world.scribe = note
    world.run(Startup())
    until_ready = moves[: moves.index("ready")]
    assert [state for state, _ in itertools.groupby(until_ready)] == [
        "OnlineReplica",
        "OfflineReplica",
        "OnlinePartition",
    ]


def test_what_was_built_up_is_taken_down_in_the_order_of_the_page(make_world):
    """docs/kafka/controller.md, Resignation: refuse, stop what wakes it, stop sending, forget last."""
    world = everything_to_do(make_world)
    world.run(Startup())
    seen = []
    context = world.context
    world.scribe = lambda effect, _: seen.append((type(effect), context.is_active, bool(context.brokers)))
    world.run(Expire())
    assert seen[1:] == [
        (AnnounceController, False, True),
        (CancelLeaderRebalance, False, True),
        (StopWatching, False, True),
        (CloseAllChannels, False, True),
    ]
    assert context == ControllerContext(context.facts, latest_epoch=1, contests=1)


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
    found = {
        p.state.leader_and_isr.leader
        for sent in world.sent(SendLeaderAndIsr)
        for p in sent.request.partitions
        if p.topic_partition == T0
    }
    assert found == {-1, 2}, "no request names the leader that may have lost its log"
    assert "broker 1 bounced unseen, and leaves the ISR of t-0" in world.reasons()


def test_a_leader_that_bounced_unseen_is_a_follower_after_the_failover(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.run(Startup())
    assert world.context.replica_states[PartitionReplica(T0, 1)] is ReplicaMachineState.ONLINE
    assert world.context.partition_states[T0] is PartitionMachineState.ONLINE
    last = [
        p.state.leader_and_isr
        for sent in world.sent(SendLeaderAndIsr)
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


def test_where_every_live_member_bounced_all_stay_in_a_new_leader_epoch(make_world):
    world = taken_over(make_world)
    bounce(world, 2, 3)
    world.run(Startup())
    known = world.leadership(T1)
    assert (known.leader, known.leader_epoch, known.isr) == (2, 7, (2, 3))
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1,))


def test_a_dead_member_that_has_not_bounced_counts_until_a_live_one_has_its_log(make_world):
    world = taken_over(make_world)
    bounce(world, 2)
    world.remove(3)
    world.run(Startup())
    assert (world.leadership(T1).leader, world.leadership(T1).isr) == (2, (2, 3))
    answer = LeaderAndIsrResponse(ErrorCode.NONE, {T1: ErrorCode.NONE})
    world.run(LeaderAndIsrResponseReceived(BrokerId(2), world.epoch_of(2), answer))
    assert (world.leadership(T1).leader, world.leadership(T1).isr) == (2, (2,))


def test_a_broker_whose_registration_was_dealt_with_has_not_bounced_unseen(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.settle()
    before = dict(world.states)
    world.run(Startup())
    assert world.states == before


def test_an_epoch_below_that_of_a_state_is_not_used(make_world):
    """``/controller_epoch`` was deleted, the states were not: no broker would obey, no state be changed."""
    world = taken_over(make_world)
    world.states[T0] = replace(world.states[T0], controller_epoch=ControllerEpoch(7))
    world.run(Startup())
    assert world.context.is_active
    assert world.context.epoch == 8
    assert {sent.request.controller_epoch for sent in world.sent(SendUpdateMetadata)} == {8}


def test_a_state_that_names_the_last_epoch_of_all_keeps_nobody_from_being_elected(make_world):
    world = taken_over(make_world)
    world.states[T0] = replace(world.states[T0], controller_epoch=ControllerEpoch(2**31 - 1))
    world.run(Startup())
    assert world.context.is_active
    assert world.context.epoch == 1


def test_a_leader_that_writes_meanwhile_does_not_hide_a_bounce(make_world):
    world = taken_over(make_world)
    bounce(world, 1)
    world.meanwhile[T0] = replace(world.leadership(T0), isr=(1, 2))
    world.run(Startup())
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2,))


def test_where_traces_are_not_wanted_none_is_made(make_world):
    def run(*, traces):
        world = make_world(active=False, traces=traces)
        world.write_topic("t", (1, 2, 3), (2, 3, 1))
        world.write_state(T0, 1, (1, 2, 3), 4)
        world.run(Startup())
        lines = [effect.line.level for effect in world.sent(LogStateChange)]
        rest = [effect for effect in world.effects if not isinstance(effect, LogStateChange)]
        return lines, rest

    (all_lines, everything), (lines, rest) = run(traces=True), run(traces=False)
    assert Level.TRACE in all_lines
    assert lines == [level for level in all_lines if level is not Level.TRACE]
    assert rest == everything


OPTIONAL = [
    ReadLogDirEvents,
    DeleteLogDirEvents,
    ReadIsrChanges,
    DeleteIsrChanges,
    ReadTopicDeletions,
    RemoveTopicDeletions,
    ReadReassignments,
    WriteAssignment,
    DeleteTopic,
    ReadPreferredReplicaElection,
    DeletePreferredReplicaElection,
]


@pytest.mark.parametrize("question", OPTIONAL, ids=lambda question: question.__name__)
def test_what_a_person_spoiled_beside_the_topics_does_not_undo_a_takeover(make_world, question):
    """A note with a child cannot be deleted, say: every broker in turn won the race and gave it back."""
    world = everything_to_do(make_world)
    if question is RemoveTopicDeletions:
        world.context.facts = replace(world.context.facts, delete_topic_enable=False)
    if question is DeleteTopic:
        world.topics["gone"].clear()
    world.failures[question] = RuntimeError("spoiled")
    world.run(Startup())
    assert world.context.is_active
    assert [reason for reason in world.reasons() if reason.startswith("went on without")]
    assert world.leadership(TopicPartition("made", 0)).leader == 1
    assert world.sent(ScheduleLeaderRebalance)


def test_a_failover_that_loses_the_controllership_stops(make_world):
    world = everything_to_do(make_world)
    world.interruptions[ReadReassignments] = Interruption.SESSION_EXPIRED
    world.run(Startup())
    assert world.reasons()[-1] == "gave up Startup, because the ZooKeeper session has expired"
