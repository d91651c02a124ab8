from __future__ import annotations

import pytest

from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.controller.core.brokers.resends import LONGEST_PAUSE_S, UNFORESEEN, ScheduleResend
from barnabas.controller.core.protocol.effects import SendLeaderAndIsr, SendStopReplica, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    LeaderAndIsrResponseReceived,
    ResendRequests,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def world(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.effects.clear()
    return world


def leader_and_isr_response(world, broker, errors, whole=ErrorCode.NONE, requested=()):
    response = LeaderAndIsrResponse(whole, errors)
    return LeaderAndIsrResponseReceived(BrokerId(broker), world.epoch_of(broker), response, requested)


def deleted(world, broker, errors):
    return TopicDeletionStopReplicaResponseReceived(BrokerId(broker), world.epoch_of(broker), errors)


def pauses(world):
    return [effect.delay_s for effect in world.sent(ScheduleResend)]


def sent_to(world, broker):
    return {
        partition.topic_partition: partition
        for sent in world.sent(SendLeaderAndIsr)
        for partition in sent.request.partitions
        if sent.broker_id == broker
    }


def test_only_the_failed_partitions_are_sent_to_a_broker_again(world):
    world.run(leader_and_isr_response(world, 2, {T0: UNFORESEEN, T1: ErrorCode.NONE}))
    assert sent_to(world, 2) == {}
    assert pauses(world) == [1.0]
    world.run(ResendRequests())
    assert list(sent_to(world, 2)) == [T0]
    assert sent_to(world, 2)[T0].is_unconfirmed, "it may have a log by now or not"
    assert sent_to(world, 2)[T0].state == world.states[T0]
    assert sent_to(world, 3) == {}


def test_a_request_that_failed_as_a_whole_is_sent_again_as_a_whole(world):
    world.run(leader_and_isr_response(world, 2, {}, UNFORESEEN, (T0, T1)))
    world.run(ResendRequests())
    assert list(sent_to(world, 2)) == [T0, T1]


def test_the_pause_doubles_up_to_a_minute_and_is_reset_by_success(world):
    for _ in range(9):
        world.run(leader_and_isr_response(world, 2, {T0: UNFORESEEN}))
        world.run(ResendRequests())
    assert pauses(world)[:7] == [1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 60.0]
    assert set(pauses(world)[7:]) == {LONGEST_PAUSE_S}
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.NONE}))
    world.effects.clear()
    world.run(ResendRequests())
    assert world.effects == []
    world.run(leader_and_isr_response(world, 2, {T0: UNFORESEEN}))
    assert pauses(world) == [1.0]


def test_the_latest_decision_is_what_is_sent_again(world):
    world.run(leader_and_isr_response(world, 1, {T0: UNFORESEEN}))
    world.remove(2)
    world.run(BrokerChange())
    world.effects.clear()
    world.run(ResendRequests())
    assert sent_to(world, 1)[T0].state == world.states[T0]
    assert sent_to(world, 1)[T0].state.leader_and_isr.leader == 3


def test_a_later_word_that_was_obeyed_settles_it(world):
    world.run(
        leader_and_isr_response(world, 2, {T0: UNFORESEEN}),
        leader_and_isr_response(world, 2, {T0: ErrorCode.NONE}),
    )
    world.run(ResendRequests())
    assert sent_to(world, 2) == {}


def test_the_next_incarnation_of_a_broker_gets_everything_anyway(world):
    world.run(leader_and_isr_response(world, 2, {T0: UNFORESEEN}))
    world.remove(2)
    world.register(2)
    world.run(BrokerChange())
    world.effects.clear()
    world.run(ResendRequests())
    assert world.effects == []


def test_a_topic_of_which_a_replica_was_not_deleted_is_deleted_in_the_end(world):
    world.marked.add("t")
    world.run(TopicDeletion())
    done = {T0: ErrorCode.NONE, T1: ErrorCode.NONE}
    world.run(deleted(world, 1, done), deleted(world, 2, done), deleted(world, 3, {**done, T1: UNFORESEEN}))
    assert "t" in world.topics
    world.effects.clear()
    world.run(ResendRequests())
    stops = {
        (sent.broker_id, partition.topic_partition)
        for sent in world.sent(SendStopReplica)
        for partition in sent.request.partitions
        if partition.delete
    }
    assert stops == {(3, T1)}
    world.run(deleted(world, 3, {T1: ErrorCode.NONE}))
    assert "t" not in world.topics


def test_a_topic_that_is_being_deleted_is_led_no_more(world):
    world.run(leader_and_isr_response(world, 2, {T0: UNFORESEEN}))
    world.marked.add("t")
    world.run(TopicDeletion())
    world.effects.clear()
    world.run(ResendRequests())
    assert sent_to(world, 2) == {}


def test_a_replica_that_was_moved_away_is_deleted_in_the_end(make_world):
    world = make_world(1, 2, 3, 4)
    world.write_topic("t", (2, 3))
    world.run(TopicChange())
    world.run(deleted(world, 4, {T0: UNFORESEEN}), deleted(world, 3, {T0: UNFORESEEN}))
    world.effects.clear()
    world.run(ResendRequests())
    stops = [
        (sent.broker_id, [p.delete for p in sent.request.partitions]) for sent in world.sent(SendStopReplica)
    ]
    assert stops == [(4, [True])], "broker 3 has been given the replica again"


def test_a_broker_that_failed_at_metadata_gets_all_of_it(world):
    failed = UpdateMetadataResponse(UNFORESEEN)
    world.run(UpdateMetadataResponseReceived(BrokerId(3), world.epoch_of(3), failed))
    world.effects.clear()
    world.run(ResendRequests())
    (sent,) = world.sent(SendUpdateMetadata)
    assert set(sent.recipients) == {3}
    assert [partition.topic_partition for partition in sent.request.partitions] == [T0, T1]
