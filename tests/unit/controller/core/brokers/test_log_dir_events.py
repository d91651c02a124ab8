from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.epochs import BrokerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import LeaderAndIsrResponse
from barnabas.controller.core.context.controller_context import PartitionReplica
from barnabas.controller.core.context.machines import ReplicaMachineState
from barnabas.controller.core.protocol.broker_znodes import DeleteLogDirEvents, ReadBrokers
from barnabas.controller.core.protocol.effects import Interruption, SendLeaderAndIsr, SendUpdateMetadata
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    LeaderAndIsrResponseReceived,
    LogDirEventNotification,
    Startup,
    TopicChange,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


@pytest.fixture
def world(make_world):
    world = make_world()
    world.write_topic("t", (1, 2, 3), (2, 3, 1))
    world.run(TopicChange())
    world.log_dir_events = {"log_dir_event_1": BrokerId(1), "log_dir_event_2": BrokerId(1)}
    world.effects.clear()
    world.questions.clear()
    return world


def answer(world, broker, **errors):
    epoch = BrokerEpoch(world.brokers[BrokerId(broker)].epoch)
    partitions = {TopicPartition("t", int(name[1:])): error for name, error in errors.items()}
    return LeaderAndIsrResponseReceived(
        BrokerId(broker), epoch, LeaderAndIsrResponse(ErrorCode.NONE, partitions)
    )


def test_the_broker_gets_all_its_replicas_again_and_the_notifications_are_deleted(world):
    world.run(LogDirEventNotification())
    (sent,) = world.sent(SendLeaderAndIsr)
    assert sent.broker_id == 1
    assert [p.topic_partition for p in sent.request.partitions] == [T0, T1]
    assert not any(p.is_new for p in sent.request.partitions)
    assert world.log_dir_events == {}
    assert isinstance(world.questions[-1], DeleteLogDirEvents)
    assert world.reasons()[0] == "log directories failed on brokers: 1"


def test_what_it_cannot_serve_any_more_is_led_by_another(world):
    world.run(LogDirEventNotification())
    stale = ErrorCode.STALE_CONTROLLER_EPOCH
    world.run(answer(world, 1, t0=ErrorCode.KAFKA_STORAGE_ERROR, t1=stale))
    assert (world.leadership(T0).leader, world.leadership(T0).isr) == (2, (2, 3))
    assert (world.leadership(T1).leader, world.leadership(T1).isr) == (2, (2, 3, 1))
    assert world.context.replica_states[PartitionReplica(T0, BrokerId(1))] is ReplicaMachineState.OFFLINE
    assert BrokerId(1) in world.context.live_brokers


def test_a_second_failure_leaves_out_what_is_known_to_be_offline(world):
    world.run(LogDirEventNotification(), answer(world, 1, t0=ErrorCode.KAFKA_STORAGE_ERROR))
    world.log_dir_events = {"log_dir_event_3": BrokerId(1)}
    world.effects.clear()
    world.run(LogDirEventNotification())
    (sent,) = [e for e in world.sent(SendLeaderAndIsr) if e.broker_id == 1]
    assert [p.topic_partition for p in sent.request.partitions] == [T1]


def test_metadata_names_the_offline_replica(world):
    world.run(LogDirEventNotification(), answer(world, 1, t0=ErrorCode.KAFKA_STORAGE_ERROR))
    sent = [p for e in world.sent(SendUpdateMetadata) for p in e.request.partitions]
    assert [p.offline_replicas for p in sent if p.topic_partition == T0][-1] == (1,)


def test_a_broker_that_is_gone_is_not_asked(world):
    world.log_dir_events = {"log_dir_event_3": BrokerId(9)}
    assert world.run(LogDirEventNotification()) == []
    assert world.log_dir_events == {}


def test_without_notes_nothing_is_done(world):
    world.log_dir_events = {}
    assert world.run(LogDirEventNotification()) == []


def test_a_former_controller_leaves_the_notifications_to_its_successor(world):
    world.interruptions[DeleteLogDirEvents] = Interruption.SESSION_EXPIRED
    world.run(LogDirEventNotification())
    assert len(world.log_dir_events) == 2


def test_a_new_controller_drops_the_notes_that_it_finds(make_world):
    world = make_world(active=False)
    world.log_dir_events = {"log_dir_event_1": BrokerId(1)}
    world.run(Startup())
    assert world.log_dir_events == {}
    kinds = [type(question) for question in world.questions]
    assert kinds.index(DeleteLogDirEvents) < kinds.index(ReadBrokers)


def log_directory_fails(world, transcript):
    world.write_topic("t", (1, 2, 3), (2, 1, 3))
    world.write_state(T0, 1, (1, 2, 3))
    world.write_state(T1, 2, (2, 1, 3))
    transcript.happens("broker 1 of three starts and becomes the controller", Startup())
    world.log_dir_events = {"log_dir_event_0000000000": BrokerId(2)}
    transcript.happens(
        "broker 2, which leads t-1, notes that a log directory of its own has failed",
        LogDirEventNotification(),
    )
    failed, works = ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.STALE_CONTROLLER_EPOCH
    transcript.happens(
        "it answers that t-1 lay there, and t-0 does not", answer(world, 2, t0=works, t1=failed)
    )
    world.log_dir_events = {"log_dir_event_0000000001": BrokerId(2)}
    transcript.happens("it notes another failure", LogDirEventNotification())
    world.remove(2)
    world.register(2)
    transcript.happens("it restarts, with all its directories", BrokerChange())


def test_the_story_as_prose(make_world, transcript, request):
    world = make_world(active=False)
    recorded = transcript(world)
    log_directory_fails(world, recorded)
    text = "\n".join(recorded.text)
    path = Path(__file__).parents[4] / "transcripts" / "log_directory_fails.txt"
    if request.config.getoption("--regenerate"):
        path.write_text(text)
    assert text == path.read_text(), "decided otherwise; if that is meant, run pytest with --regenerate"
