from __future__ import annotations

import pytest

from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import NO_LEADER, BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.controller.core.election.effects import ScheduleReelection
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, LogStateChange, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    LeaderAndIsrResponseReceived,
    Reelect,
    TopicChange,
    TopicDeletionStopReplicaResponseReceived,
    UpdateMetadataResponseReceived,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def with_topic(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.effects.clear()
    return world


def leader_and_isr_response(world, broker, errors, error=ErrorCode.NONE, epoch=None):
    id_ = BrokerId(broker)
    known = world.brokers[id_].epoch if epoch is None else BrokerEpoch(epoch)
    return LeaderAndIsrResponseReceived(id_, known, LeaderAndIsrResponse(error, errors))


def test_success_says_nothing(make_world):
    world = with_topic(make_world)
    answer = leader_and_isr_response(world, 2, {T0: ErrorCode.NONE})
    world.run(answer)
    assert world.run(answer) == []


def leaders_in_metadata(world):
    """What the last UpdateMetadata about each partition says."""
    return {
        p.topic_partition: p.state.leader_and_isr.leader
        for sent in world.sent(SendUpdateMetadata)
        for p in sent.request.partitions
    }


def test_metadata_names_a_new_leader_once_it_has_confirmed_that_it_leads(make_world):
    """A client that is faster than the leader would be refused by it; other leaders need not wait for it."""
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    assert leaders_in_metadata(world) == {T0: NO_LEADER, T1: NO_LEADER}
    world.run(leader_and_isr_response(world, 1, {T0: ErrorCode.NONE, T1: ErrorCode.NONE}))
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.NONE, T1: ErrorCode.NONE}))
    assert leaders_in_metadata(world) == {T0: 2, T1: NO_LEADER}
    assert set(world.sent(SendUpdateMetadata)[-1].recipients) == {1, 2, 3}
    world.run(leader_and_isr_response(world, 3, {T1: ErrorCode.NONE}))
    assert leaders_in_metadata(world) == {T0: 2, T1: 3}


def test_a_creation_does_not_wait_for_a_leader_that_failed_and_is_asked_again(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1), (3, 2, 1))
    world.run(TopicChange())
    world.run(leader_and_isr_response(world, 3, {T1: ErrorCode.UNKNOWN_SERVER_ERROR}))
    assert leaders_in_metadata(world) == {T0: NO_LEADER, T1: 3}


def test_a_new_leader_that_never_answers_is_replaced_at_its_death_and_named_at_once(make_world):
    world = with_topic(make_world)
    world.remove(3)
    world.run(BrokerChange())
    assert leaders_in_metadata(world)[T1] == 2
    assert world.context.not_led_yet == {T0}


def test_a_refusal_of_the_whole_request_is_only_logged(make_world):
    world = with_topic(make_world)
    world.run(leader_and_isr_response(world, 2, {}, ErrorCode.STALE_BROKER_EPOCH))
    (line,) = world.lines()
    assert line.startswith("[Controller id=1] Received error STALE_BROKER_EPOCH in LeaderAndIsr response ")
    assert line.endswith(" from broker 2")
    assert world.context.offline_dirs == {}


def test_a_failed_directory_takes_its_replicas_offline(make_world):
    world = with_topic(make_world)
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.KAFKA_STORAGE_ERROR, T1: ErrorCode.NONE}))
    assert world.lines()[0] == "[Controller id=1] Mark replicas t-0 on broker 2 as offline"
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (3, (3, 1))
    assert world.leadership(T1).isr == (3, 2, 1)


def test_the_same_failure_again_is_not_logged(make_world):
    world = with_topic(make_world)
    failed = leader_and_isr_response(world, 2, {T0: ErrorCode.KAFKA_STORAGE_ERROR})
    world.run(failed)
    assert world.run(failed) == []


def test_a_replica_that_works_again_loses_its_mark(make_world):
    world = with_topic(make_world)
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.KAFKA_STORAGE_ERROR}))
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.NONE}))
    assert world.context.offline_dirs == {}


def test_the_response_of_a_previous_incarnation_does_not_count(make_world):
    world = with_topic(make_world)
    world.run(leader_and_isr_response(world, 2, {T0: ErrorCode.KAFKA_STORAGE_ERROR}, epoch=1))
    assert world.context.offline_dirs == {}


@pytest.mark.parametrize("api", ["LeaderAndIsr", "UpdateMetadata"])
def test_a_controller_that_learns_of_a_later_epoch_is_elected_again_with_one_above(make_world, api):
    """``/controller_epoch`` was lowered: no broker obeys, and nobody else would ever be elected."""
    world = with_topic(make_world)
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    if api == "LeaderAndIsr":
        world.run(leader_and_isr_response(world, 2, {}, stale))
    else:
        refused = UpdateMetadataResponse(stale)
        world.run(UpdateMetadataResponseReceived(BrokerId(2), world.epoch_of(2), refused))
    assert not world.context.is_active
    assert world.controller == NO_CONTROLLER
    (paused,) = world.sent(ScheduleReelection)
    assert paused.delay_s > 0
    world.run(Reelect())
    assert world.context.is_active
    assert world.context.epoch == 2


def test_a_refused_update_metadata_is_logged(make_world):
    world = with_topic(make_world)
    refused = UpdateMetadataResponse(ErrorCode.STALE_BROKER_EPOCH)
    world.run(UpdateMetadataResponseReceived(BrokerId(3), world.epoch_of(3), refused))
    assert world.reasons() == ["broker 3 answered UpdateMetadata with STALE_BROKER_EPOCH"]
    assert len(world.sent(LogStateChange)) == 1
    accepted = UpdateMetadataResponse(ErrorCode.NONE)
    assert world.run(UpdateMetadataResponseReceived(BrokerId(3), world.epoch_of(3), accepted)) == []


@pytest.mark.parametrize("api", ["LeaderAndIsr", "UpdateMetadata", "StopReplica"])
def test_a_response_to_an_earlier_controllership_of_this_broker_does_not_count(make_world, api):
    """It waited in the mailbox while this broker resigned and was elected again."""
    world = with_topic(make_world)
    world.context.unproven.add(BrokerId(2))
    former = ControllerEpoch(world.context.epoch - 1)
    life = world.epoch_of(2)
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    received = {
        "LeaderAndIsr": [
            LeaderAndIsrResponseReceived(
                BrokerId(2), life, LeaderAndIsrResponse(error), controller_epoch=former
            )
            for error in (ErrorCode.NONE, stale)
        ],
        "UpdateMetadata": [
            UpdateMetadataResponseReceived(BrokerId(2), life, UpdateMetadataResponse(stale), former)
        ],
        "StopReplica": [
            TopicDeletionStopReplicaResponseReceived(
                BrokerId(2), life, {T0: ErrorCode.UNKNOWN_SERVER_ERROR}, former
            )
        ],
    }
    world.run(*received[api])
    assert world.context.is_active
    assert world.context.unproven == {2}
    assert world.context.failures.is_empty
