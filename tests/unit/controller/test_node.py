from __future__ import annotations

import asyncio
from functools import partial
from types import SimpleNamespace

import pytest
import structlog

from barnabas.cluster.model.brokers import GRPC_LISTENER, Broker, Endpoint
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.commands.elections import ElectionType, ElectLeaders
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.commands.topics import CreateTopics, NewTopic
from barnabas.cluster.model.controllership import Claim, Controllership, Owner
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, EpochVersion, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.requests import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange import Kind
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.errors import SessionExpired, ZooKeeperTimeout
from barnabas.cluster.zk.client.operations import Change, WatchEvent
from barnabas.cluster.zk.stores.fence import Fence
from barnabas.controller.core.election import controller_election
from barnabas.controller.loop import ControllerLoop
from barnabas.controller.node import ControllerNode, ControllerSettings, deletion_answers

DEADLINE_S = 120
"""Ends a wait that hangs, as in `test_loop.py`."""


class Race:
    """``/controller`` in memory, for one session after the other."""

    def __init__(self):
        self.named = None
        self.epoch = 0
        self.is_over = False

    async def look(self, *, watch):
        if self.is_over:
            raise SessionExpired("over")
        if self.named is None:
            return Controllership(None, ControllerEpoch(self.epoch))
        owner = Owner.THIS_SESSION if self.named == 1 else Owner.NAMED_BROKER
        return Controllership(Claim(BrokerId(self.named), owner, 0), ControllerEpoch(self.epoch))

    async def elect(self, broker, now_ms, seen, above):
        self.named = broker
        self.epoch += 1
        return Fence(ControllerEpoch(self.epoch), EpochVersion(self.epoch))

    async def give_up(self):
        self.named = None

    async def record_epoch(self, _fence):
        return {}

    async def record_brokers(self, _broker_epochs, _fence):
        return None


def empty_store(race):
    """The stores of a cluster without brokers and topics."""

    async def none(*_arguments, **_options):
        return {}

    async def nothing(*_arguments, **_options):
        return None

    return SimpleNamespace(
        session=SimpleNamespace(watched=list, unwatch=lambda *_: None),
        controller=race,
        cluster=SimpleNamespace(disable_features=nothing),
        brokers=SimpleNamespace(ids=none, read=none),
        topics=SimpleNamespace(names=none, read=none),
        partitions=SimpleNamespace(read=none),
        deletions=SimpleNamespace(marked=none),
        elections=SimpleNamespace(preferred=nothing),
        reassignments=SimpleNamespace(read=nothing),
        isr_changes=SimpleNamespace(path="/isr_change_notification", pending=none),
        log_dir_events=SimpleNamespace(path="/log_dir_event_notification", pending=none),
    )


@pytest.fixture
async def stage():
    """A node, the race it takes part in, and who it said is the controller."""
    learned, epochs, deaths, lines = [], [], [], []
    heard = asyncio.Event()

    def on_controller(controller_id, epoch):
        learned.append(controller_id)
        epochs.append(epoch)
        heard.set()

    supervisor = Supervisor(lambda name, error: deaths.append((name, error)))
    log = SimpleNamespace(write=lines.append)
    node = ControllerNode(ControllerSettings(BrokerId(1)), supervisor, log, Metrics(), on_controller)

    async def until_learned(controller_id):
        async with asyncio.timeout(DEADLINE_S):
            while not learned or learned[-1] != controller_id:
                heard.clear()
                await heard.wait()

    yield SimpleNamespace(
        node=node, race=Race(), learned=learned, epochs=epochs, until_learned=until_learned, lines=lines
    )
    await node.stop()
    assert await supervisor.close(DEADLINE_S) == []
    assert deaths == []


async def test_it_takes_part_in_the_race_and_says_who_won(stage):
    assert stage.node.active_controller_id == -1
    await stage.node.start(empty_store(stage.race))
    await stage.until_learned(1)
    assert stage.node.active_controller_id == 1


async def test_a_change_of_the_node_is_noticed(stage):
    stage.race.named, stage.race.epoch = 2, 4
    await stage.node.start(empty_store(stage.race))
    await stage.until_learned(2)
    assert stage.epochs[-1] == 4, "the epoch of the other controller, which this broker must obey alone"
    stage.race.named = None
    stage.node.on_zookeeper_event(WatchEvent("/controller", Change.DELETED))
    stage.node.on_zookeeper_event(WatchEvent("/config/changes", Change.CHILDREN))
    await stage.until_learned(1)


async def test_expiry_resigns_before_it_returns_and_the_next_session_contests_again(stage):
    await stage.node.start(empty_store(stage.race))
    await stage.until_learned(1)
    stage.race.is_over = True
    await stage.node.on_session_expired()
    assert stage.node.active_controller_id == -1
    assert stage.race.named == 1, "the old session's node is not touched"
    after = Race()
    after.epoch = 1
    await stage.node.start(empty_store(after))
    await stage.until_learned(1)
    assert after.epoch == 2


async def test_stopping_opens_the_race(stage):
    await stage.node.start(empty_store(stage.race))
    await stage.until_learned(1)
    await stage.node.stop()
    assert stage.race.named is None
    await stage.node.stop()


async def test_a_node_that_never_started_stops_and_expires_at_once(stage):
    await stage.node.on_session_expired()
    await stage.node.stop()


async def test_its_port_refuses_where_it_does_not_act(stage):
    """KAFKA-14154: what is sent to a controller that no longer is one hears so, and asks the next one."""
    stage.race.named = 2
    await stage.node.start(empty_store(stage.race))
    result = await stage.node.port.submit(CreateTopics((NewTopic("t"),)), 10_000)
    assert isinstance(result, Refused)
    assert result.error is ErrorCode.NOT_CONTROLLER
    leave = ControlledShutdown(BrokerId(2), BrokerEpoch(7))
    assert (await stage.node.port.submit(leave, 10_000)).error is ErrorCode.STALE_CONTROLLER_EPOCH


async def test_changed_settings_of_elections_are_noticed(stage):
    await stage.node.start(empty_store(stage.race))
    await stage.until_learned(1)
    with structlog.testing.capture_logs() as logs:
        stage.node.enable_unclean_leader_election("t")
        stage.node.set_unclean_leader_election(enabled=True)
        await stage.node.port.submit(ElectLeaders(ElectionType.PREFERRED, ()), 10_000)
    said = [entry["event"] for entry in logs]
    assert "unclean leader election is enabled now for t" in said
    assert "unclean leader election is enabled now for all topics" in said


async def test_who_gets_no_answer_from_zookeeper_contests_again_in_the_same_session(stage, monkeypatch):
    monkeypatch.setattr(controller_election, "REELECTION_PAUSE_S", 0.0)
    store = empty_store(stage.race)
    await stage.node.start(store)
    await stage.until_learned(1)
    silent = True

    async def ids(*_arguments, **_options):
        nonlocal silent
        if silent:
            silent = False
            raise ZooKeeperTimeout("no answer")
        return {}

    store.brokers.ids = ids
    stage.node.on_zookeeper_event(WatchEvent("/brokers/ids", Change.CHILDREN))
    await stage.until_learned(-1)
    await stage.until_learned(1)
    assert stage.race.epoch == 2


@pytest.fixture
def delivery(monkeypatch):
    """A node whose channels the test is: it delivers responses; the lines and inputs that come of them."""
    deliver, lines, inputs = [], [], []

    def channels(_supervisor, _settings, on_response):
        deliver.append(on_response)
        return SimpleNamespace(close_all=lambda: None)

    monkeypatch.setattr("barnabas.controller.node.BrokerChannels", channels)
    monkeypatch.setattr(ControllerLoop, "put", lambda _, happened: inputs.append(happened))
    log = SimpleNamespace(write=lines.append)
    ControllerNode(ControllerSettings(BrokerId(1)), Supervisor(lambda *_: None), log, Metrics())
    broker = Broker(BrokerId(2), BrokerEpoch(7), (Endpoint(GRPC_LISTENER, "127.0.0.1", 9),))
    on_response = partial(deliver[0], broker)
    return SimpleNamespace(on_response=on_response, lines=lines, inputs=inputs)


async def test_a_response_during_a_resignation_is_logged_with_the_epoch_of_its_request(delivery):
    """The context may have lost its epoch, while the channels still deliver."""
    request = LeaderAndIsrRequest(BrokerId(1), ControllerEpoch(4), BrokerEpoch(7), ())
    delivery.on_response(request, LeaderAndIsrResponse(ErrorCode.NONE, {}), 3)
    (line,) = delivery.lines
    assert (line.kind, line.speaker_id, line.speaker_epoch) == (Kind.RESPONSE_RECEIVED, 1, 4)


async def test_a_response_says_which_controllership_asked_and_what_part_of_a_list_it_answers(delivery):
    head = BrokerId(1), ControllerEpoch(4), BrokerEpoch(7)
    part = LeaderAndIsrRequest(*head, (), is_full=True, parts_to_follow=2)
    delivery.on_response(part, LeaderAndIsrResponse(ErrorCode.NONE, {}), 1)
    delivery.on_response(UpdateMetadataRequest(*head, (), ()), UpdateMetadataResponse(ErrorCode.NONE), 2)
    stopped = StopReplicaPartition(TopicPartition("t", 0), LeaderEpoch(0), delete=True)
    delivery.on_response(StopReplicaRequest(*head, (stopped,)), StopReplicaResponse(ErrorCode.NONE, {}), 3)
    assert [each.controller_epoch for each in delivery.inputs] == [4, 4, 4]
    assert delivery.inputs[0].parts_to_follow == 2


def test_a_replica_to_be_deleted_of_which_a_broker_says_nothing_was_not_deleted():
    stops = tuple(
        StopReplicaPartition(TopicPartition("t", number), LeaderEpoch(0), delete=number < 2)
        for number in range(3)
    )
    request = StopReplicaRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(7), stops)
    first, second = (stop.topic_partition for stop in stops[:2])
    unforeseen = ErrorCode.UNKNOWN_SERVER_ERROR
    assert deletion_answers(request, StopReplicaResponse(ErrorCode.NONE, {first: ErrorCode.NONE})) == {
        first: ErrorCode.NONE,
        second: unforeseen,
    }
    assert deletion_answers(request, StopReplicaResponse(unforeseen)) == dict.fromkeys(
        (first, second), unforeseen
    )
