from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace

import pytest
from structlog.testing import capture_logs

from barnabas.cluster.model.brokers import Broker
from barnabas.cluster.model.commands.topics import CreateTopicsResult
from barnabas.cluster.model.epochs import UNKNOWN_BROKER_EPOCH, BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr
from barnabas.cluster.model.requests import StopReplicaRequest, UpdateMetadataRequest
from barnabas.cluster.model.statechange import ControllerLines
from barnabas.cluster.runtime.line_limit import LINES_PER_WINDOW, LimitedLines
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.zk.client.errors import (
    ControllerMoved,
    RequestTooLarge,
    SessionExpired,
    ZooKeeperTimeout,
)
from barnabas.controller import perform
from barnabas.controller.core.election.effects import AnnounceController, ScheduleReelection
from barnabas.controller.core.leader_elections.effects import CancelLeaderRebalance, ScheduleLeaderRebalance
from barnabas.controller.core.protocol.effects import (
    CloseAllChannels,
    CloseChannel,
    Effect,
    Interruption,
    LogElection,
    LogInfo,
    LogStateChange,
    OpenChannel,
    Reply,
    SendStopReplica,
    SendUpdateMetadata,
    StopWatching,
)
from barnabas.controller.core.topics.effects import ReadTopics
from barnabas.controller.perform import Performer, Receivers

TWO = Broker(BrokerId(2), BrokerEpoch(7), ())


@dataclass
class Recorder:
    """Notes every call of every outlet."""

    calls: list[tuple[str, tuple]] = field(default_factory=list)

    def __getattr__(self, name):
        return lambda *arguments: self.calls.append((name, arguments))


@pytest.fixture
def recorder():
    return Recorder()


@pytest.fixture
def metrics():
    return Metrics()


@pytest.fixture
def performer(recorder, metrics):
    return Performer(
        Receivers(
            recorder, recorder, metrics, recorder, recorder.on_controller, recorder, recorder, recorder
        ),
        dice=lambda: 0.5,
    )


def test_each_effect_goes_to_its_outlet(performer, recorder):
    line = ControllerLines(BrokerId(1), ControllerEpoch(1)).sending_stop_replica_batch(1, BrokerId(2))
    stop = StopReplicaRequest(BrokerId(1), ControllerEpoch(1), BrokerEpoch(7), ())
    reply = Reply(5, CreateTopicsResult(()))
    for effect in (
        LogStateChange(line),
        OpenChannel(TWO),
        SendStopReplica(BrokerId(2), stop),
        CloseChannel(BrokerId(2)),
        CloseAllChannels(),
        AnnounceController(BrokerId(3), ControllerEpoch(2)),
        StopWatching(),
        ScheduleLeaderRebalance(60.0),
        CancelLeaderRebalance(),
        ScheduleReelection(2.0),
        reply,
    ):
        performer.perform(effect)
    assert recorder.calls == [
        ("write", (line,)),
        ("open", (TWO,)),
        ("send", (BrokerId(2), stop)),
        ("close", (BrokerId(2),)),
        ("close_all", ()),
        ("on_controller", (BrokerId(3), ControllerEpoch(2))),
        ("set", (60.0,)),
        ("cancel", ()),
        ("set", (2.5,)),
        ("reply", (reply,)),
    ]


def test_each_copy_of_the_metadata_carries_its_receivers_epoch(performer, recorder):
    request = UpdateMetadataRequest(BrokerId(1), ControllerEpoch(1), UNKNOWN_BROKER_EPOCH, (), (TWO,))
    recipients = {BrokerId(2): BrokerEpoch(7), BrokerId(3): BrokerEpoch(9)}
    performer.perform(SendUpdateMetadata(recipients, request))
    assert [(id_, sent.broker_epoch) for _, (id_, sent) in recorder.calls] == [(2, 7), (3, 9)]


def test_of_the_lines_that_clients_cause_few_are_written(performer, monkeypatch):
    """100,000 refused topics were as many lines; eight requests filled server.log with a gigabyte."""
    monkeypatch.setattr(perform, "LINES", LimitedLines(lambda: 0.0))
    with capture_logs() as logs:
        for number in range(100):
            performer.perform(LogInfo(f"topic {number} refused", client_kind="CreateTopics refused"))
            performer.perform(LogInfo(f"topic {number} deleted"))
    lines = [line["event"] for line in logs]
    assert sum("refused" in line for line in lines) == LINES_PER_WINDOW
    assert sum("deleted" in line for line in lines) == 100


def test_a_line_has_an_end(performer):
    with capture_logs() as logs:
        performer.perform(LogInfo("a" * 10_000_000))
    (line,) = logs
    assert line["event"].endswith("a... (10000000 characters)")
    assert len(line["event"]) < 101_000


def test_elections_are_counted(performer, metrics):
    for unclean in (False, True):
        elected = LeaderAndIsr.initial(BrokerId(2), (BrokerId(2),))
        performer.perform(LogElection(TopicPartition("t", 0), "S", elected, unclean=unclean))
    count = metrics.registry.get_sample_value
    assert count("kafka_controller_ControllerStats_LeaderElectionsPerSec_total") == 2
    assert count("kafka_controller_ControllerStats_UncleanLeaderElectionsPerSec_total") == 1


def test_an_effect_without_outlet_is_named(performer):
    with pytest.raises(TypeError, match=r"Effect\(\)"):
        performer.perform(Effect())


async def test_without_a_session_every_question_is_answered_by_its_end(performer):
    assert await performer.answer(ReadTopics()) is Interruption.SESSION_EXPIRED


@pytest.mark.parametrize(
    ("error", "answer"),
    [
        (SessionExpired("over"), Interruption.SESSION_EXPIRED),
        (ControllerMoved("moved"), Interruption.CONTROLLER_MOVED),
        (ZooKeeperTimeout("no answer"), Interruption.ZOOKEEPER_SILENT),
    ],
)
async def test_the_end_of_the_controllership_comes_as_an_answer(performer, error, answer):
    performer.use_session(failing(error), BrokerId(1))
    assert await performer.answer(ReadTopics()) is answer


async def test_any_other_error_is_for_the_loop(performer):
    performer.use_session(failing(RequestTooLarge("1 GB")), BrokerId(1))
    with pytest.raises(RequestTooLarge):
        await performer.answer(ReadTopics())


def failing(error):
    async def names(*, watch):
        raise error

    return SimpleNamespace(topics=SimpleNamespace(names=names), controller=None)
