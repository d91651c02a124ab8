from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cluster.model.commands.command import Command
from barnabas.cluster.model.commands.configs import AlterConfigs, IncrementalAlterConfigs
from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.commands.reassignments import (
    AlterPartitionReassignments,
    ListPartitionReassignments,
)
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.commands.topics import (
    CreatePartitions,
    CreateTopics,
    DeleteTopics,
    NewPartitions,
    NewTopic,
)
from barnabas.cluster.model.controllership import Claim, Owner
from barnabas.cluster.model.epochs import BrokerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.requests import LeaderAndIsrResponse, UpdateMetadataResponse
from barnabas.controller.core.decide import EVENTS, decide, kind_of, recover, refuse
from barnabas.controller.core.election.effects import ScheduleReelection
from barnabas.controller.core.protocol import inputs
from barnabas.controller.core.protocol.broker_znodes import ReadBrokers
from barnabas.controller.core.protocol.effects import NO_CONTROLLER, Interruption, Reply
from barnabas.controller.core.protocol.inputs import (
    AutoPreferredReplicaLeaderElection,
    BrokerChange,
    BrokerModifications,
    CommandReceived,
    ControllerChange,
    Draw,
    Expire,
    Input,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    LogDirEventNotification,
    PartitionModifications,
    PartitionReassignmentIsrChange,
    Reelect,
    ReplicaLeaderElection,
    ShutdownEventThread,
    Startup,
    TopicChange,
    TopicDeletion,
    TopicDeletionStopReplicaResponseReceived,
    TopicUncleanLeaderElectionEnable,
    UncleanLeaderElectionEnable,
    UpdateMetadataResponseReceived,
    ZkPartitionReassignment,
)
from barnabas.controller.core.topics.effects import ReadAssignments

REQUEST = CommandReceived(3, CreateTopics((NewTopic("t"),)), (Draw(0, 0),))
ELECTIONS_REQUEST = CommandReceived(5, ElectLeaders(ElectionType.PREFERRED, ()))
CONFIGS_REQUESTS = [CommandReceived(4, AlterConfigs({})), CommandReceived(4, IncrementalAlterConfigs({}))]
MOVE_REQUESTS = [
    CommandReceived(5, AlterPartitionReassignments({})),
    CommandReceived(6, ListPartitionReassignments()),
]
RESPONSES = [
    LeaderAndIsrResponseReceived(BrokerId(2), BrokerEpoch(1), LeaderAndIsrResponse(ErrorCode.NONE)),
    UpdateMetadataResponseReceived(BrokerId(2), BrokerEpoch(1), UpdateMetadataResponse(ErrorCode.NONE)),
    TopicDeletionStopReplicaResponseReceived(BrokerId(2), BrokerEpoch(1), {}),
]
TOPIC_REQUESTS = [
    CommandReceived(5, CreatePartitions(())),
    CommandReceived(6, DeleteTopics(())),
]
KINDS_WITHOUT_ROW = {"Input", "CommandReceived"}
ONLY_ACTIVE = [
    CommandReceived(5, ControlledShutdown(BrokerId(2), BrokerEpoch(1))),
    BrokerChange(),
    BrokerModifications(BrokerId(2)),
    TopicChange(),
    PartitionModifications("t"),
    TopicDeletion(),
    IsrChangeNotification(),
    LogDirEventNotification(),
    ReplicaLeaderElection(),
    AutoPreferredReplicaLeaderElection(),
    TopicUncleanLeaderElectionEnable("t"),
    ZkPartitionReassignment(),
    PartitionReassignmentIsrChange((TopicPartition("t", 0),)),
]


@pytest.mark.parametrize("happened", ONLY_ACTIVE, ids=lambda happened: kind_of(happened).__name__)
def test_a_broker_that_is_not_the_controller_ignores_the_cluster(make_world, happened):
    world = make_world(active=False)
    world.run(happened)
    assert world.questions == []
    (reason,) = world.reasons()
    assert reason == f"ignored {kind_of(happened).__name__}: this broker is not the active controller"


def test_a_former_controller_writes_nothing_resigns_and_follows_the_new_one(make_world):
    """KAFKA-6082: another controller was elected, and this one does not know it yet."""
    world = make_world()
    world.write_topic("t", (2, 3, 1))
    world.run(TopicChange())
    before = dict(world.states)
    world.epoch, world.controller, world.owns_controller = 2, BrokerId(3), False
    world.remove(2)
    world.run(BrokerChange())
    assert world.states == before
    assert not world.context.is_active
    assert world.context.active_controller_id == 3
    assert "gave up BrokerChange, because another controller has been elected" in world.reasons()


def test_a_controller_whose_epoch_node_was_changed_by_hand_is_elected_again(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1))
    world.epoch = 9
    world.run(TopicChange())
    assert world.context.epoch == 10
    assert world.leadership(TopicPartition("t", 0)).leader == 2


def test_an_expired_session_ends_a_decision_without_a_word_to_zookeeper(make_world):
    world = make_world()
    world.write_topic("t", (2, 3, 1))
    world.interruptions[ReadAssignments] = Interruption.SESSION_EXPIRED
    world.run(TopicChange())
    assert isinstance(world.questions[-1], ReadAssignments)
    assert world.context.is_active, "Expire comes next and resigns"


def test_a_preempted_caller_gets_a_refusal():
    refusal = refuse(REQUEST)
    assert isinstance(refusal, Reply)
    assert refusal.token == 3
    assert refuse(TopicChange()) is None


def test_a_takeover_that_fails_is_given_back(make_world):
    world = make_world()
    world.drive(recover(world.context, ControllerChange(), "a bug"))
    assert not world.context.is_active
    assert not world.owns_controller
    assert world.sent(ScheduleReelection)


def test_any_other_failure_is_left_to_the_next_event(make_world):
    world = make_world()
    world.drive(recover(world.context, TopicChange(), "a bug"))
    assert world.context.is_active


@pytest.mark.parametrize(
    "request_",
    [
        CommandReceived(5, AlterPartitionReassignments({TopicPartition("..", 0): (BrokerId(1),)})),
        CommandReceived(5, ElectLeaders(ElectionType.PREFERRED, (TopicPartition("..", 0),))),
        CommandReceived(5, DeleteTopics(("..",))),
        CommandReceived(5, CreatePartitions((NewPartitions("..", 2),))),
    ],
    ids=lambda request: kind_of(request).__name__,
)
def test_no_command_asks_zookeeper_of_what_is_no_topic(make_world, request_):
    world = make_world()
    world.run(request_)
    assert not [question for question in world.questions if "'..'" in repr(question)]
    assert len(world.sent(Reply)) == 1


def test_a_command_that_fails_is_answered_so(make_world):
    """Its caller would wait for the whole of its time, and learn nothing."""
    world = make_world()
    world.drive(recover(world.context, REQUEST, "CreateTopics failed: KeyError('a bug')"))
    (reply,) = world.sent(Reply)
    assert reply.token == REQUEST.token
    assert reply.result.error is ErrorCode.UNKNOWN_SERVER_ERROR
    assert world.context.is_active


def test_every_input_and_every_command_has_its_row():
    kinds = {kind for kind in vars(inputs).values() if isinstance(kind, type) and issubclass(kind, Input)}
    commands = {kind.__name__ for kind in Command.__subclasses__() if kind.__module__.startswith("barnabas.")}
    assert {kind.__name__ for kind in EVENTS} == {
        kind.__name__ for kind in kinds
    } - KINDS_WITHOUT_ROW | commands


@pytest.mark.parametrize("kind", EVENTS, ids=lambda kind: kind.__name__)
def test_every_kind_of_input_has_its_handler(make_world, kind):
    requests = (REQUEST, *CONFIGS_REQUESTS, ELECTIONS_REQUEST, *TOPIC_REQUESTS, *MOVE_REQUESTS)
    known = (*ONLY_ACTIVE, *requests, *RESPONSES, UncleanLeaderElectionEnable(enabled=True))
    samples = {kind_of(happened): happened for happened in known}
    make_world().run(samples[kind] if kind in samples else kind())


def test_an_unknown_input_is_named(make_world):
    class Unheard(Input):
        pass

    world = make_world()
    with pytest.raises(TypeError, match="Unheard"):
        world.drive(decide(world.context, Unheard()))


# Transcripts: whole stories as prose, in tests/transcripts.


def topic_created(world, transcript):
    transcript.happens("broker 1 starts, alone with brokers 2 and 3", Startup())
    request = CreateTopics(
        (NewTopic("orders", 2, 3, configs={"min.insync.replicas": "2"}), NewTopic("bad name"))
    )
    draws = (Draw(0.0, 0.0), Draw(0.0, 0.0))
    transcript.happens("a client asks for topics", CommandReceived(1, request, draws))
    transcript.happens("the watch on /brokers/topics fires", TopicChange())
    hosted = dict.fromkeys((TopicPartition("orders", number) for number in (0, 1)), ErrorCode.NONE)
    for broker in (1, 2):
        response = LeaderAndIsrResponse(ErrorCode.NONE, hosted)
        transcript.happens(
            f"broker {broker} leads what it should",
            LeaderAndIsrResponseReceived(BrokerId(broker), world.epoch_of(broker), response),
        )


def broker_dies_and_returns(world, transcript):
    world.write_topic("orders", (2, 3, 1), (3, 1, 2))
    transcript.happens("broker 1 starts and finds a topic that was never led", Startup())
    world.remove(2)
    world.meanwhile[TopicPartition("orders", 1)] = LeaderAndIsr(
        BrokerId(3), LeaderEpoch(0), (BrokerId(3), BrokerId(1))
    )
    transcript.happens(
        "broker 2 dies; just then the leader of orders-1 drops it from the ISR itself", BrokerChange()
    )
    world.register(2)
    transcript.happens("broker 2 returns", BrokerChange())
    orders_0 = TopicPartition("orders", 0)
    world.write_state(orders_0, 3, (3, 1, 2), 1)
    world.notes["isr_change_0000000001"] = (orders_0,)
    transcript.happens("broker 2 has caught up and the leader of orders-0 notes it", IsrChangeNotification())
    world.register(2)
    transcript.happens("broker 2 dies and is back before anybody noticed", BrokerChange())


def controller_fails_over(world, transcript):
    world.write_topic("orders", (1, 2), (2, 3))
    transcript.happens("broker 1 starts and becomes the controller", Startup())
    world.epoch, world.controller, world.owns_controller = 2, BrokerId(3), False
    world.remove(2)
    transcript.happens(
        "broker 1 was paused: broker 3 is the controller by now, and broker 2 is dead", BrokerChange()
    )
    world.controller = NO_CONTROLLER
    transcript.happens(
        "broker 3 dies as the controller, its own registration still stands", ControllerChange()
    )
    world.remove(3)
    transcript.happens("the registration of broker 3 vanishes", BrokerChange())
    transcript.happens("the session of broker 1 expires", Expire())


def controlled_shutdown(world, transcript):
    world.write_topic("orders", (2, 3, 1), (3, 2), (2,))
    transcript.happens("broker 1 is the controller of brokers 2 and 3", Startup())
    world.write_state(TopicPartition("orders", 1), 3, (3, 2))

    def asks(token):
        return CommandReceived(token, ControlledShutdown(BrokerId(2), world.epoch_of(2)))

    transcript.happens("broker 2 gets SIGTERM before the others have created their logs", asks(0))
    for broker, numbers in ((BrokerId(3), (0, 1)), (BrokerId(1), (0,))):
        created = {TopicPartition("orders", number): ErrorCode.NONE for number in numbers}
        response = LeaderAndIsrResponse(ErrorCode.NONE, created)
        transcript.happens(
            f"broker {broker} has created its logs",
            LeaderAndIsrResponseReceived(broker, world.epoch_of(broker), response),
        )
    world.meanwhile[TopicPartition("orders", 0)] = LeaderAndIsr(BrokerId(2), LeaderEpoch(0), (BrokerId(2),))
    transcript.happens("broker 2 asks again; just then its followers of orders-0 lag behind", asks(1))
    world.write_state(TopicPartition("orders", 0), 2, (2, 3))
    transcript.happens("broker 3 has caught up, and broker 2 asks again", asks(2))
    world.remove(2)
    transcript.happens("broker 2 has stopped", BrokerChange())


def resignation(world, transcript):
    world.write_topic("orders", (1, 2))
    transcript.happens("broker 1 becomes the controller", Startup())
    world.controller = BrokerId(3)
    transcript.happens(
        "somebody writes 3 into its node: it gives the node up, and all contest", ControllerChange()
    )
    world.stray = Claim(None, Owner.OTHER_BROKER, 2)
    transcript.happens("somebody makes the node unreadable", ControllerChange())
    transcript.happens("a pause later one contest is forgotten", Reelect())
    world.interruptions[ReadBrokers] = Interruption.ZOOKEEPER_SILENT
    transcript.happens("ZooKeeper is away when it is asked", BrokerChange())
    transcript.happens("ZooKeeper is back in the same session", ControllerChange())
    transcript.happens("the session expires", Expire())
    world.controller, world.owns_controller = NO_CONTROLLER, False
    transcript.happens("a new session is open, and broker 1 registered in it", Startup())
    transcript.happens("broker 1 stops", ShutdownEventThread())


def leaders_elected(world, transcript):
    orders_0, orders_1 = TopicPartition("orders", 0), TopicPartition("orders", 1)
    world.write_topic("orders", (2, 3), (2, 1))
    world.write_state(orders_0, 3, (3, 2), 4)
    world.write_state(orders_1, 1, (1,), 7)
    world.preferred_election = (orders_0,)
    transcript.happens("broker 1 starts and finds what its predecessor was asked for", Startup())
    both = ElectLeaders(ElectionType.PREFERRED, (orders_0, orders_1))
    transcript.happens("a tool asks for both preferred leaders", CommandReceived(1, both))
    world.write_state(orders_1, 1, (1, 2), 7)
    world.notes["isr_change_0000000001"] = (orders_1,)
    transcript.happens("broker 2 is in sync everywhere, as a note says", IsrChangeNotification())
    transcript.happens("it is time to see who leads", AutoPreferredReplicaLeaderElection())
    world.write_state(orders_0, 2, (2,), 5)
    world.notes["isr_change_0000000002"] = (orders_0,)
    transcript.happens("broker 3 falls behind", IsrChangeNotification())
    world.remove(2)
    transcript.happens("broker 2 dies, and nobody who is left is in sync for orders-0", BrokerChange())
    world.configs["orders"] = {"unclean.leader.election.enable": "true"}
    change = TopicUncleanLeaderElectionEnable("orders")
    transcript.happens("the topic may be led from outside the ISR from now on", change)


STORIES = [
    topic_created,
    broker_dies_and_returns,
    controller_fails_over,
    controlled_shutdown,
    resignation,
    leaders_elected,
]


@pytest.mark.parametrize("story", STORIES, ids=lambda story: story.__name__)
def test_a_story_goes_as_its_transcript_says(make_world, transcript, story, request):
    world = make_world(active=False, num_partitions=1)
    written = transcript(world)
    story(world, written)
    path = Path(__file__).parents[3] / "transcripts" / f"{story.__name__}.txt"
    text = "\n".join(written.text)
    if request.config.getoption("--regenerate"):
        path.write_text(text)
    assert text == path.read_text(), "decided otherwise; if that is meant, run pytest with --regenerate"
