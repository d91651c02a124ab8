"""Every line of state-change.log that our release has comes about, by what happens to a cluster."""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.reassignments import AlterPartitionReassignments
from barnabas.cluster.model.commands.shutdown import ControlledShutdown
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import LEADER_DURING_DELETE, BrokerId, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from barnabas.cluster.model.statechange import Kind, StateChange
from barnabas.cluster.model.statechange.table import OURS
from barnabas.cluster.model.statechange.template import Speaker
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.controller.core.context.controller_context import ControllerContext, Facts
from barnabas.controller.core.protocol.effects import LogStateChange, SendLeaderAndIsr
from barnabas.controller.core.protocol.inputs import (
    BrokerChange,
    CommandReceived,
    IsrChangeNotification,
    LeaderAndIsrResponseReceived,
    Startup,
    TopicChange,
    UpdateMetadataResponseReceived,
)
from barnabas.controller.node import ControllerNode, ControllerSettings

NEVER_WRITTEN = {
    # Topic ids are null at inter.broker.protocol.version 2.6.
    Kind.TOPIC_ID_MISMATCH: {"tp", "topic_id", "requested_topic_id"},
    # What brokers of a lower inter.broker.protocol.version are sent.
    Kind.STOP_REPLICA_BATCH: {"delete", "count", "broker"},
    # One partition that cannot be followed fails for itself, and is named.
    Kind.LEADER_AND_ISR_FAILED: {"controller", "controller_epoch", "correlation_id"},
}
"""The lines of release 2.8 that this one does not write, by kind, with their fields."""

ONE, TWO, THREE, FOUR = (BrokerId(number) for number in (1, 2, 3, 4))
REPLICAS = (ONE, TWO, THREE)
LIVE = tuple(Broker(id_, BrokerEpoch(10), (Endpoint("GRPC", "127.0.0.1", 9000 + id_),)) for id_ in REPLICAS)


def missing(lines: Iterable[StateChange], *speakers: Speaker) -> set[Any]:
    """The lines of these speakers, by kind and fields, that are not among ``lines``."""
    wanted = {
        (kind, fields)
        for (kind, fields), template in OURS.items()
        if template.speaker in speakers and NEVER_WRITTEN.get(kind) != fields
    }
    return wanted - {(line.kind, frozenset(line.values)) for line in lines}


# A controller


def test_each_line_of_a_controller_comes_about(world_module: Any) -> None:
    world = world_module.World(ControllerContext(Facts(ONE)))
    world.register(1, 2, 3, 4)
    world.write_topic("t", (2, 3, 1), (3, 4), (4,))
    world.run(Startup())
    world.write_topic("u", (1,))
    world.run(TopicChange())
    t0, t1, t2 = (TopicPartition("t", number) for number in range(3))
    life = world.epoch_of(2)
    # Broker 4 creates its logs; a directory of broker 2 fails; broker 3 stops; a partition moves, and one
    # whose state is gone does not.
    created = LeaderAndIsrResponse(ErrorCode.NONE, dict.fromkeys((t1, t2), ErrorCode.NONE))
    world.run(LeaderAndIsrResponseReceived(FOUR, world.epoch_of(4), created))
    errors = {t0: ErrorCode.KAFKA_STORAGE_ERROR}
    world.run(LeaderAndIsrResponseReceived(TWO, life, LeaderAndIsrResponse(ErrorCode.NONE, errors)))
    world.run(CommandReceived(1, ControlledShutdown(THREE, world.epoch_of(3))))
    world.run(CommandReceived(2, AlterPartitionReassignments({t1: (FOUR, ONE)})))
    moves = {t2: (ONE, FOUR)}
    del world.states[t2]
    world.run(CommandReceived(3, AlterPartitionReassignments(moves)))
    # The new replica catches up: the old ones are deleted.
    world.write_state(t1, 4, (4, 1), world.leadership(t1).leader_epoch)
    world.notes["isr_change_1"] = (t1,)
    world.run(IsrChangeNotification())
    # Nobody is left to lead, and what is to be written is not there any more.
    world.remove(4)
    world.run(BrokerChange())
    stale = ErrorCode.STALE_BROKER_EPOCH
    world.run(LeaderAndIsrResponseReceived(TWO, life, LeaderAndIsrResponse(stale)))
    world.run(UpdateMetadataResponseReceived(TWO, world.epoch_of(TWO), UpdateMetadataResponse(stale)))
    lines = [effect.line for effect in world.sent(LogStateChange)]
    left = missing([*lines, *answers(world)], Speaker.CONTROLLER, Speaker.CONTROLLER_WITHOUT_EPOCH)
    assert left == set()


def answers(world: Any) -> list[StateChange]:
    """What a controller's node logs of an answer, before its core hears of it."""
    lines: list[StateChange] = []
    log: Any = SimpleNamespace(write=lines.append)
    node = ControllerNode(ControllerSettings(ONE), Supervisor(lambda *_: None), log, Metrics())
    sent = world.sent(SendLeaderAndIsr)[0]
    node._on_response(world.brokers[ONE], sent.request, LeaderAndIsrResponse(ErrorCode.NONE), 0)
    return lines


# A broker


class Broken(Exception):
    """Something that nobody foresaw."""


class Scene:
    """Broker 1's replicas on real logs, and orders to them.

    Attributes:
        room: The replicas.
        leadership: What carries orders out.
        lines: What it logged.
        fails: What goes wrong when a log is opened or deleted; None for nothing.
        unprepared: Why no new log can be opened; None where it can.
    """

    def __init__(self, room: Any) -> None:
        self.room = room
        self.lines: list[StateChange] = []
        self.fails: Exception | None = None
        self.unprepared: str | None = None
        fetchers: Any = SimpleNamespace(follow=lambda *_: None, stop=list, end_idle=lambda: None)
        self.control_requests = ControlRequests(
            room.hosted,
            room.metadata,
            ControlGate(),
            fetchers,
            write=self.lines.append,
            on_metadata=lambda _: None,
            prepare=self._prepare,
        )
        for name in ("get_or_create", "delete"):
            setattr(room.logs, name, self._failing(getattr(room.logs, name)))

    async def _prepare(self, _request: LeaderAndIsrRequest) -> str | None:
        return self.unprepared

    def _failing(self, work: Any) -> Any:
        def do(*arguments: Any, **options: Any) -> Any:
            if self.fails is not None:
                raise self.fails
            return work(*arguments, **options)

        return do

    async def order(
        self,
        topic: str,
        leader: int,
        epoch: int,
        *,
        replicas: tuple[BrokerId, ...] = REPLICAS,
        fence: int = 1,
        live: tuple[Broker, ...] = LIVE,
    ) -> None:
        state = PartitionState(
            LeaderAndIsr(BrokerId(leader), LeaderEpoch(epoch), replicas), ControllerEpoch(fence)
        )
        partition = LeaderAndIsrPartition(TopicPartition(topic, 0), state, Assignment(replicas), is_new=True)
        request = LeaderAndIsrRequest(TWO, ControllerEpoch(fence), BrokerEpoch(1), (partition,), live)
        await self.control_requests.leader_and_isr(request)

    async def tell(self, topic: str, leader: BrokerId, *, fence: int = 1) -> None:
        state = PartitionState(LeaderAndIsr(leader, LeaderEpoch(0), REPLICAS), ControllerEpoch(fence))
        cached = UpdateMetadataPartition(TopicPartition(topic, 0), state, REPLICAS)
        request = UpdateMetadataRequest(TWO, ControllerEpoch(fence), BrokerEpoch(1), (cached,), LIVE)
        await self.control_requests.update_metadata(request)

    async def stop(self, topic: str, epoch: int, *, delete: bool = True, fence: int = 1) -> None:
        partition = StopReplicaPartition(TopicPartition(topic, 0), LeaderEpoch(epoch), delete)
        request = StopReplicaRequest(TWO, ControllerEpoch(fence), BrokerEpoch(1), (partition,))
        await self.control_requests.stop_replica(request)


async def test_each_line_of_a_broker_comes_about(room_module: Any, tmp_path: Path) -> None:
    with ThreadPoolExecutor(1) as executor:
        options = LogDirsOptions(
            1, "A" * 22, lambda _: LogConfig(segment_index_bytes=16 * 1024), lambda _: executor, lambda: 0
        )
        logs = LogDirs.open([tmp_path], options)
        scene = Scene(room_module.Room(logs))
        await roles_change(scene)
        await orders_are_old(scene)
        await things_go_wrong(scene, tmp_path)
        logs.close()
    assert missing(scene.lines, Speaker.BROKER) == set()


async def roles_change(scene: Scene) -> None:
    await scene.order("led", 1, 0)
    await scene.order("led", 1, 1)
    await scene.order("followed", 2, 0)
    await scene.order("followed", 2, 1)
    await scene.order("waiting", 3, 0, live=())
    await scene.order("elsewhere", 2, 0, replicas=(TWO, THREE))
    await scene.tell("led", ONE)
    await scene.tell("led", LEADER_DURING_DELETE)


async def orders_are_old(scene: Scene) -> None:
    for epoch in (0, 1):
        await scene.order("led", 2, epoch)
        await scene.stop("led", epoch, delete=False)
    await scene.tell("other", ONE, fence=5)
    await scene.order("led", 1, 9, fence=4)
    await scene.tell("led", ONE, fence=4)
    await scene.stop("led", 9, fence=4)


async def things_go_wrong(scene: Scene, directory: Path) -> None:
    scene.control_requests.close()
    await scene.order("late", 2, 0, fence=5)
    scene.unprepared = "SessionExpired: over"
    await scene.order("new", 1, 0, fence=5)
    await scene.order("new", 2, 0, fence=5)
    scene.unprepared, scene.fails = None, Broken()
    for leader in (1, 2):
        await scene.order("new", leader, 0, fence=5)
    await scene.stop("followed", 9, fence=5)
    scene.fails = KafkaStorageError(directory, "test")
    await scene.stop("led", 9, fence=5)
    await scene.order("new", 1, 0, fence=5)
    await scene.order("newer", 2, 0, fence=5)
    await scene.order("led", 2, 9, fence=5)
    await scene.stop("led", 9, fence=5)
