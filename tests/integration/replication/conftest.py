"""Replication without the other rooms: real logs, real gRPC streams, a hand for the controller."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.replicas.hosted import HostedPartition
from barnabas.broker.replicas.interface import Appended, Fetched, FetchPartition
from barnabas.broker.replicas.service import ReplicaService
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.peers.control_check import ControlRequestCheck
from barnabas.broker.server.peers.peers import PeerServer
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.command import Refused
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch, PartitionVersion
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, Offset, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from barnabas.cluster.runtime.metrics import Metrics
from barnabas.cluster.runtime.supervisor import Supervisor
from barnabas.cluster.zk.client.errors import BadVersion, NoNode, ZooKeeperTimeout

TP = TopicPartition("t", 0)
REIGN = ControllerEpoch(1)

PATIENT_MS = 60_000
"""As long as a test waits for what comes soon, on a machine that has other things to do."""

FAST = ReplicaSettings(
    fetch_wait_max_ms=100,
    fetch_backoff_ms=50,
    session_timeout_ms=6000,
    high_watermark_checkpoint_interval_ms=60_000,
)


def batch(*values: bytes, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    """A client's batch, as a library that is not ours builds it."""
    producer_id, producer_epoch, base_sequence = producer
    builder = DefaultRecordBatchBuilder(
        magic=2,
        compression_type=0,
        is_transactional=False,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        base_sequence=base_sequence,
        batch_size=1 << 20,
    )
    for index, value in enumerate(values):
        builder.append(index, int(time.time() * 1000), None, value, [])
    return bytes(builder.build())


async def _until(holds: Callable[[], Any], what: str, timeout_s: float = PATIENT_MS / 1000) -> None:
    """Wait for something that no event tells of."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, f"not within {timeout_s} s: {what}"
        await asyncio.sleep(0.005)


class States:
    """The partitions' state znodes, and the keeper's view of them."""

    def __init__(self) -> None:
        self.states: dict[TopicPartition, PartitionState] = {}
        self.announced: list[TopicPartition] = []
        self.loses_answers = 0

    def write(self, topic_partition: TopicPartition, state: PartitionState) -> PartitionState:
        leadership = state.leader_and_isr
        before = self.states.get(topic_partition)
        version = PartitionVersion(0 if before is None else before.leader_and_isr.version + 1)
        self.states[topic_partition] = PartitionState(leadership.written_as(version), state.controller_epoch)
        return self.states[topic_partition]

    async def write_partition_state(
        self, topic_partition: TopicPartition, state: PartitionState
    ) -> PartitionVersion:
        await asyncio.sleep(0)
        if topic_partition not in self.states:
            raise NoNode(str(topic_partition))
        if self.states[topic_partition].leader_and_isr.version != state.leader_and_isr.version:
            raise BadVersion(str(topic_partition))
        written = self.write(topic_partition, state)
        if self.loses_answers:
            self.loses_answers -= 1
            raise ZooKeeperTimeout("the answer was lost")
        return written.leader_and_isr.version

    async def read_partition_state(self, topic_partition: TopicPartition) -> PartitionState | None:
        await asyncio.sleep(0)
        return self.states.get(topic_partition)

    async def announce_isr_changes(self, topic_partitions: Sequence[TopicPartition]) -> None:
        self.announced.extend(topic_partitions)


class NoController:
    async def submit(self, _command: object, _timeout_ms: int) -> Refused:
        return Refused(ErrorCode.NOT_CONTROLLER, "none here")


class Node:
    """One broker's replicas, with logs that outlive its process."""

    batch = staticmethod(batch)

    def __init__(self, broker_id: int, directory: Path, states: States, log_config: LogConfig) -> None:
        self.id = BrokerId(broker_id)
        self.topic_partition = TP
        self.directory = directory
        self.states = states
        self.log_config = log_config
        self.epoch = BrokerEpoch(0)
        self.port = 0
        self.lines: list[Any] = []
        self.deaths: list[str] = []

    async def start(self, settings: ReplicaSettings) -> None:
        self.directory.mkdir(exist_ok=True)
        self.epoch = BrokerEpoch(self.epoch + 1)
        self.executor = ThreadPoolExecutor(1)
        options = LogDirsOptions(
            broker_id=self.id,
            cluster_id="A" * 22,
            config_for=lambda _topic: self.log_config,
            executor_for=lambda _path: self.executor,
            clock=lambda: int(time.time() * 1000),
        )
        self.logs = await asyncio.to_thread(LogDirs.open, [self.directory], options)
        self.supervisor = Supervisor(lambda name, error: self.deaths.append(f"{name}: {error!r}"))
        self.service = ReplicaService(
            self.id,
            self.logs,
            settings,
            store=lambda: self.states,
            supervisor=self.supervisor,
            metrics=Metrics(),
            write=self.lines.append,
            on_metadata=lambda _: None,
        )
        gate = self.service.gate
        gate.registered(self.epoch)

        async def latest_epoch() -> ControllerEpoch:
            return gate.controller_epoch

        self.server = PeerServer(
            self.service.control_requests,
            self.service.sessions,
            ControlRequestCheck(self.id, gate, self.lines.append, latest_epoch),
            NoController(),
            settings.session_timeout_ms,
            ranges=self.service.ranges,
            most_connections=100,
        )
        self.port = await self.server.start("127.0.0.1", self.port)
        self.service.start()

    async def stop(self, *, checkpoint: bool = True) -> None:
        """End; without ``checkpoint`` the high watermark stays as it was last written down."""
        await self.server.stop(0)
        if checkpoint:
            await self.service.close()
        else:
            self.service.control_requests.close()
        await self.supervisor.close(5)
        await asyncio.to_thread(self.logs.close)
        self.executor.shutdown()

    @property
    def broker(self) -> Broker:
        return Broker(self.id, self.epoch, (Endpoint("GRPC", "127.0.0.1", self.port),))

    @property
    def partition(self) -> HostedPartition:
        found = self.service.hosted.get(TP)
        assert found is not None
        return found

    def log_bytes(self) -> bytes:
        log = self.partition.log
        found = log.read(log.log_start_offset, 1 << 30, log.log_end_offset)
        return bytes(found.records)

    async def append(
        self,
        *values: bytes,
        acks: int = -1,
        timeout_ms: int = PATIENT_MS,
        producer: tuple[int, int, int] = (-1, -1, -1),
    ) -> Appended:
        records = batch(*values, producer=producer)
        answer = self.service.appends.append({TP: records}, acks=acks, timeout_ms=timeout_ms)
        return (await answer)[TP]

    async def fetch(self, offset: int, max_wait_ms: int = 0) -> Fetched:
        reads, wanted = self.service.reads, {TP: FetchPartition(Offset(offset), 1 << 20)}
        await reads.wait(wanted, max_wait_ms=max_wait_ms, min_bytes=1)
        return reads.read(wanted, 1 << 20)[TP]


class Cluster:
    """Three nodes and a hand that does what a controller would."""

    def __init__(self, directory: Path, settings: ReplicaSettings, log_config: LogConfig) -> None:
        self.settings = settings
        self.states = States()
        self.nodes = {i: Node(i, directory / str(i), self.states, log_config) for i in (1, 2, 3)}
        self.live: set[int] = set()
        self.told: set[int] = set()

    async def start(self, *ids: int) -> None:
        for broker_id in ids:
            await self.nodes[broker_id].start(self.settings)
            self.live.add(broker_id)

    async def stop(self, broker_id: int, *, checkpoint: bool = True) -> None:
        self.live.discard(broker_id)
        await self.nodes[broker_id].stop(checkpoint=checkpoint)

    async def elect(self, leader: int, isr: Sequence[int]) -> None:
        """Write a new leadership and tell the live nodes."""
        members = tuple(map(BrokerId, isr))
        before = self.states.states.get(TP)
        leadership = (
            LeaderAndIsr.initial(BrokerId(leader), members)
            if before is None
            else before.leader_and_isr.new_leader(BrokerId(leader), members)
        )
        state = self.states.write(TP, PartitionState(leadership, REIGN))
        await self.tell(state, self.live)

    async def tell(self, state: PartitionState, ids: Sequence[int] | set[int]) -> None:
        replicas = tuple(map(BrokerId, self.nodes))
        brokers = tuple(self.nodes[i].broker for i in sorted(self.live))
        for broker_id in sorted(ids):
            node = self.nodes[broker_id]
            cached = UpdateMetadataPartition(TP, state, replicas)
            update = UpdateMetadataRequest(BrokerId(9), REIGN, node.epoch, (cached,), brokers)
            assert (await node.service.control_requests.update_metadata(update)).error is ErrorCode.NONE
            is_new = broker_id not in self.told
            self.told.add(broker_id)
            partition = LeaderAndIsrPartition(TP, state, Assignment(replicas), is_new)
            order = LeaderAndIsrRequest(BrokerId(9), REIGN, node.epoch, (partition,), brokers)
            answer = await node.service.control_requests.leader_and_isr(order)
            assert answer.partition_errors[TP] is ErrorCode.NONE

    @property
    def isr(self) -> set[int]:
        return set(self.states.states[TP].leader_and_isr.isr)

    @staticmethod
    async def until(holds: Callable[[], Any], what: str) -> None:
        """Wait for something that no event tells of."""
        await _until(holds, what)

    async def until_equal(self, *ids: int) -> None:
        """Wait until these nodes have the same bytes and the same high watermark."""

        def contents() -> set[tuple[bytes, int]]:
            found = (self.nodes[i] for i in ids)
            return {(node.log_bytes(), node.partition.replica.high_watermark) for node in found}

        await self.until(lambda: len(contents()) == 1, f"equal logs of {ids}")

    def check_no_deaths(self) -> None:
        assert [death for node in self.nodes.values() for death in node.deaths] == []


@pytest.fixture
def lag_time_max_ms() -> int:
    """``replica.lag.time.max.ms``; a test of shrinking ISRs has a short one of its own."""
    return PATIENT_MS


@pytest.fixture
async def cluster(tmp_path: Path, lag_time_max_ms: int) -> AsyncIterator[Cluster]:
    """Three nodes, all started; min.insync.replicas is 2."""
    settings = replace(FAST, lag_time_max_ms=lag_time_max_ms)
    made = Cluster(tmp_path, settings, LogConfig(min_insync_replicas=2, segment_index_bytes=64 * 1024))
    await made.start(1, 2, 3)
    yield made
    for broker_id in tuple(made.live):
        await made.stop(broker_id)
    made.check_no_deaths()
