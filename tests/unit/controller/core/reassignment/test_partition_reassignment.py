"""The phases of a reassignment, each begun, interrupted and begun again."""

from __future__ import annotations

from dataclasses import replace

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr
from barnabas.controller.core.context.controller_context import PartitionReplica
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.partitions.effects import WritePartitionStates
from barnabas.controller.core.protocol.effects import SendLeaderAndIsr, SendStopReplica, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    IsrChangeNotification,
    PartitionReassignmentIsrChange,
    TopicChange,
)
from barnabas.controller.core.reassignment.partition_reassignment import reassign, running
from barnabas.controller.core.topics.effects import WriteAssignment
from barnabas.controller.core.topics.topic_validation import Refusal

T0 = TopicPartition("t", 0)
CHANGE = PartitionReassignmentIsrChange((T0,))
MOVED = Assignment((4, 5, 6, 1, 2, 3), (4, 5, 6), (1, 2, 3))


@pytest.fixture
def world(make_world):
    """Six brokers; t-0 is on 1, 2, 3 and led by 1."""
    world = make_world(1, 2, 3, 4, 5, 6)
    world.write_topic("t", (1, 2, 3))
    world.run(TopicChange())
    world.effects.clear()
    world.questions.clear()
    return world


def move(world, *target, tp=T0):
    wanted = world.context.assignment(tp).reassign_to(target)
    return world.drive(reassign(world.context, {tp: wanted})).get(tp)


def catch_up(world, *isr):
    """The leader takes these into the ISR."""
    known = world.leadership(T0)
    world.write_state(T0, known.leader, isr, known.leader_epoch)


def last_sent(world, kind):
    """By broker, what it was sent of t-0 by requests of that kind, in the last one."""
    return {
        sent.broker_id: partition
        for sent in world.sent(kind)
        for partition in sent.request.partitions
        if partition.topic_partition == T0
    }


def replica_state(world, broker):
    return world.context.replica_states.get(PartitionReplica(T0, broker))


# Phases U and A


def test_the_union_is_written_before_it_is_sent_to_a_replica(world):
    assert move(world, 4, 5, 6) is None
    assert world.topics["t"][0] == MOVED
    kinds = [type(question) for question in world.questions]
    assert kinds.index(WriteAssignment) < kinds.index(WritePartitionStates)


def test_all_replicas_get_a_new_epoch_and_only_the_added_ones_are_new(world):
    move(world, 4, 5, 6)
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1, 2, 3))
    assert world.leadership(T0).leader_epoch == 1
    leaderships = last_sent(world, SendLeaderAndIsr)
    assert {broker: p.is_new for broker, p in leaderships.items()} == {
        **dict.fromkeys((1, 2, 3), False),
        **dict.fromkeys((4, 5, 6), True),
    }
    assert {p.assignment for p in leaderships.values()} == {MOVED}
    assert {replica_state(world, broker) for broker in (4, 5, 6)} == {ReplicaMachineState.NEW}
    assert any(
        "Sent LeaderAndIsr request" in line and "to leader 1 for partition being reassigned t-0" in line
        for line in world.lines()
    )


def test_a_leader_that_writes_meanwhile_is_read_again(world):
    world.meanwhile[T0] = replace(world.leadership(T0), isr=(1, 2))
    move(world, 4, 5, 6)
    assert (world.leadership(T0).leader_epoch, world.leadership(T0).isr) == (1, (1, 2))


def test_what_a_person_adds_to_the_topic_meanwhile_stays(world):
    world.topics["t"][1] = Assignment((2, 3))
    move(world, 4, 5, 6)
    assert world.topics["t"] == {0: MOVED, 1: Assignment((2, 3))}


def test_a_topic_that_is_gone_meanwhile_is_not_reassigned(world):
    del world.topics["t"]
    refusal = move(world, 4, 5, 6)
    assert isinstance(refusal, Refusal)
    assert refusal.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert world.context.assignment(T0) == Assignment((1, 2, 3))


def test_nothing_more_happens_until_the_last_target_replica_is_in_sync(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 3, 4, 5)
    world.effects.clear()
    assert world.run(CHANGE) == []
    assert running(world.context) == [T0]


def test_what_a_later_controller_has_written_is_left_to_it(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 3, 4, 5, 6)
    later = world.states[T0].controller_epoch + 1
    world.states[T0] = replace(world.states[T0], controller_epoch=later)
    world.effects.clear()
    assert world.run(CHANGE) == []
    assert running(world.context) == [T0]


def test_a_state_that_cannot_be_written_is_said_to_be_not_sent(world):
    del world.states[T0]
    move(world, 4, 5, 6)
    assert any("Failed to send LeaderAndIsr request with new replica assignment" in s for s in world.lines())


# Phase B


def finish(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 3, 4, 5, 6)
    world.effects.clear()
    world.questions.clear()
    world.run(CHANGE)


def test_a_completed_reassignment_has_the_target_for_replicas_and_isr(world):
    """KAFKA-1097: also where nobody writes, the ISR is the new set and nothing else."""
    finish(world)
    assert world.topics["t"][0] == world.context.assignment(T0) == Assignment((4, 5, 6))
    known = world.leadership(T0)
    assert (known.leader, set(known.isr)) == (4, {4, 5, 6})
    assert running(world.context) == []


def test_a_dead_replica_that_is_moved_away_leaves_the_isr(world):
    """Although it has stayed in it while no live member was known to have its log."""
    world.context.unproven.update((1, 2))
    world.remove(3)
    world.run(BrokerChange())
    assert world.leadership(T0).isr == (1, 2, 3)
    move(world, 1, 2)
    assert world.topics["t"][0] == Assignment((1, 2))
    assert world.leadership(T0).isr == (1, 2)


def test_the_old_replicas_are_deleted_and_the_topic_is_written_last(world):
    finish(world)
    assert {broker: p.delete for broker, p in last_sent(world, SendStopReplica).items()} == dict.fromkeys(
        (1, 2, 3), True
    )
    kinds = [type(question) for question in world.questions]
    last_state = len(kinds) - 1 - kinds[::-1].index(WritePartitionStates)
    assert kinds.index(WriteAssignment) > last_state
    assert [replica_state(world, broker) for broker in (1, 2, 3)] == [None] * 3
    assert {replica_state(world, broker) for broker in (4, 5, 6)} == {ReplicaMachineState.ONLINE}


def test_each_stop_is_in_a_later_epoch_than_the_stopped_replica_knows(world):
    finish(world)
    stops = last_sent(world, SendStopReplica)
    leaderships = last_sent(world, SendLeaderAndIsr)
    known_before = 1
    assert all(
        stop.leader_epoch
        > max(
            known_before,
            *(p.state.leader_and_isr.leader_epoch for b, p in leaderships.items() if b == broker),
        )
        if broker in leaderships
        else stop.leader_epoch > known_before
        for broker, stop in stops.items()
    )


def test_every_broker_gets_the_final_replicas(world):
    finish(world)
    last = world.sent(SendUpdateMetadata)[-1]
    assert sorted(last.recipients) == [1, 2, 3, 4, 5, 6]
    assert [(p.topic_partition, p.replicas) for p in last.request.partitions] == [(T0, (4, 5, 6))]


def test_a_leader_that_stays_leads_on_in_a_new_epoch(world):
    move(world, 4, 1)
    catch_up(world, 1, 2, 3, 4)
    epoch = world.leadership(T0).leader_epoch
    world.run(CHANGE)
    assert (world.leadership(T0).leader, set(world.leadership(T0).isr)) == (1, {1, 4})
    assert world.leadership(T0).leader_epoch > epoch
    assert world.context.assignment(T0) == Assignment((4, 1))


def test_another_order_of_the_same_replicas_is_done_at_once(world):
    move(world, 3, 2, 1)
    assert world.topics["t"][0] == Assignment((3, 2, 1))
    assert world.leadership(T0).leader == 1
    assert not world.sent(SendStopReplica)


def test_fewer_replicas_are_done_at_once(world):
    move(world, 2)
    assert (world.topics["t"][0], world.leadership(T0).leader, world.leadership(T0).isr) == (
        Assignment((2,)),
        2,
        (2,),
    )


def test_an_end_that_cannot_be_written_is_tried_again_and_holds_no_other(world):
    world.write_topic("u", (1, 2))
    world.run(TopicChange())
    u0 = TopicPartition("u", 0)
    move(world, 4, 5, 6)
    move(world, 4, tp=u0)
    catch_up(world, 1, 2, 3, 4, 5, 6)
    known = world.leadership(u0)
    world.write_state(u0, known.leader, (1, 2, 4), known.leader_epoch)
    spoiled = RuntimeError("no right to write /brokers/topics/t")
    world.answers[WriteAssignment] = lambda asked: (
        spoiled if asked.topic == "t" else world.answer_reassignment(asked)
    )
    world.notes["isr_change_1"] = (T0, u0)
    world.run(IsrChangeNotification())
    assert world.topics["u"][0] == Assignment((4,))
    assert world.notes == {}
    assert running(world.context) == [T0]
    del world.answers[WriteAssignment]
    world.run(CHANGE)
    assert world.topics["t"][0] == Assignment((4, 5, 6))
    assert running(world.context) == []


def test_an_isr_note_completes_it_too(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 4, 5, 6)
    world.notes["isr_change_1"] = (T0,)
    world.run(IsrChangeNotification())
    assert world.topics["t"][0] == Assignment((4, 5, 6))


def test_the_old_replicas_stay_while_no_target_replica_can_lead(world):
    """All targets are in the ISR, and all of them shut down: to let the leader go now is an outage."""
    move(world, 4)
    catch_up(world, 1, 2, 3, 4)
    world.context.shutting_down.add(4)
    world.run(CHANGE)
    assert world.leadership(T0).leader == 1
    assert world.context.assignment(T0) == world.topics["t"][0] == Assignment((4, 1, 2, 3), (4,), (1, 2, 3))
    assert "t-0 keeps its replicas 1, 2, 3, because none of 4 can lead now" in world.reasons()
    world.context.shutting_down.clear()
    world.run(CHANGE)
    assert world.topics["t"][0] == Assignment((4,))


def test_a_replica_on_a_dead_broker_is_let_go_without_a_request(world):
    world.remove(3)
    world.run(BrokerChange())
    finish(world)
    assert sorted(last_sent(world, SendStopReplica)) == [1, 2]
    assert world.topics["t"][0] == Assignment((4, 5, 6))


def test_a_change_of_a_partition_that_is_not_reassigned_is_ignored(world):
    assert world.run(CHANGE) == []


# Replacing and cancelling


def test_a_cancelled_reassignment_restores_replicas_and_isr(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 3, 4)
    world.effects.clear()
    move(world, 1, 2, 3)
    assert world.topics["t"][0] == Assignment((1, 2, 3))
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (1, (1, 2, 3))
    assert {broker: p.delete for broker, p in last_sent(world, SendStopReplica).items()} == dict.fromkeys(
        (4, 5, 6), True
    )
    assert [replica_state(world, broker) for broker in (4, 5, 6)] == [None] * 3


def test_a_second_reassignment_replaces_the_first_and_keeps_the_origin(world):
    move(world, 4, 5, 6)
    move(world, 5, 2)
    assert world.topics["t"][0] == Assignment((5, 2, 1, 3), (5,), (1, 3))
    assert sorted(last_sent(world, SendStopReplica)) == [4, 6]


def test_what_is_left_out_goes_before_the_topic_is_written(world):
    """A controller that fails in between leaves the former reassignment, and no unknown ISR member."""
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 3, 4)
    world.questions.clear()
    move(world, 1, 2, 3)
    kinds = [type(question) for question in world.questions]
    assert kinds.index(WritePartitionStates) < kinds.index(WriteAssignment)


def led_by_a_new_replica(world, *isr):
    move(world, 4, 5, 6)
    world.write_state(T0, 4, isr, world.leadership(T0).leader_epoch + 1)


def test_a_leader_that_is_left_out_is_replaced_first(world):
    led_by_a_new_replica(world, 4, 2, 3)
    move(world, 1, 2, 3)
    assert (world.leadership(T0).leader, set(world.leadership(T0).isr)) == (2, {2, 3})
    assert world.topics["t"][0] == Assignment((1, 2, 3))
    leaders = [q.states[T0].leader_and_isr.leader for q in world.questions if hasattr(q, "states")]
    assert -1 not in leaders, "the partition is never without a leader"


def test_a_cancellation_that_would_lose_all_records_is_refused(world):
    led_by_a_new_replica(world, 4)
    before = world.context.assignment(T0)
    refusal = move(world, 1, 2, 3)
    assert refusal.error is ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert refusal.message == (
        "None of the replicas 1,2,3 of partition t-0 is online and in sync; its records are on 4,5,6 alone, "
        "expected there until another has caught up"
    )
    assert world.context.assignment(T0) == world.topics["t"][0] == before
    assert not world.sent(SendStopReplica)


# Brokers come and go


def test_a_target_broker_that_returns_gets_the_request_again(world):
    move(world, 4, 5, 6)
    world.remove(5)
    world.run(BrokerChange())
    world.register(5)
    world.effects.clear()
    epoch = world.leadership(T0).leader_epoch
    world.run(BrokerChange())
    assert world.leadership(T0).leader_epoch == epoch + 1
    assert last_sent(world, SendLeaderAndIsr)[5].assignment == MOVED


def test_a_target_broker_that_returns_in_sync_completes_it(world):
    move(world, 4)
    world.remove(4)
    world.run(BrokerChange())
    catch_up(world, 1, 2, 3, 4)
    world.register(4)
    world.run(BrokerChange())
    assert world.topics["t"][0] == Assignment((4,))


def test_a_partition_that_was_never_led_is_repaired_by_a_reassignment(world):
    world.write_topic("dead", (8, 9))
    world.run(TopicChange())
    dead = TopicPartition("dead", 0)
    assert dead not in world.states
    move(world, 4, 5, tp=dead)
    assert (world.leadership(dead).leader, world.leadership(dead).isr) == (4, (4, 5))
    assert world.topics["dead"][0] == Assignment((4, 5))


def test_a_partition_that_was_never_led_and_changes_its_order_only_waits_for_a_broker(world):
    world.write_topic("dead", (8, 9))
    world.run(TopicChange())
    dead = TopicPartition("dead", 0)
    move(world, 9, 8, tp=dead)
    assert world.topics["dead"][0] == Assignment((9, 8))
    assert dead not in world.states
    world.register(8)
    world.run(BrokerChange())
    assert (world.leadership(dead).leader, world.leadership(dead).isr) == (8, (8,))


def test_the_leader_of_a_moving_partition_dies(world):
    move(world, 4, 5, 6)
    catch_up(world, 1, 2, 4)
    world.remove(1)
    world.run(BrokerChange())
    assert world.leadership(T0).leader in {2, 4}
    assert isinstance(world.leadership(T0), LeaderAndIsr)
    world.write_state(T0, 4, (2, 4, 5, 6), world.leadership(T0).leader_epoch)
    world.run(CHANGE)
    assert (world.topics["t"][0], set(world.leadership(T0).isr)) == (Assignment((4, 5, 6)), {4, 5, 6})
