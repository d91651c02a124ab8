"""The replicas of broker 1 on real logs, without network and controller."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from aiokafka.record.default_records import DefaultRecordBatchBuilder

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.replication.control_gate import ControlGate
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.replicas.control_requests import ControlRequests
from barnabas.broker.replicas.hosted import HostedPartition, HostedPartitions
from barnabas.broker.replicas.read import Reader
from barnabas.broker.replicas.settings import ReplicaSettings
from barnabas.broker.server.network.eager import start
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.ids import BrokerId, TopicIdentity, TopicPartition
from barnabas.cluster.model.partition import Assignment, LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import (
    LeaderAndIsrPartition,
    LeaderAndIsrRequest,
    StopReplicaPartition,
    StopReplicaRequest,
    UpdateMetadataPartition,
    UpdateMetadataRequest,
)
from tests.unit.broker.conftest import build_batch, marker, transactional

TP = TopicPartition("t", 0)
REPLICAS = (BrokerId(1), BrokerId(2), BrokerId(3))
BROKERS = tuple(Broker(i, 10, (Endpoint("GRPC", "127.0.0.1", 9000 + i),)) for i in REPLICAS)


def batch(*values: bytes, producer: tuple[int, int, int] = (-1, -1, -1)) -> bytes:
    """A client's batch of these values, as a library that is not ours builds it."""
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
        builder.append(index, 1_700_000_000_000 + index, None, value, [])
    return bytes(builder.build())


def fetching(reader, wanted, *, max_wait_ms=0, min_bytes=1, max_bytes=1 << 20):
    """A fetch as its handler makes it: wait, then read; what can be read now is there at once."""
    answer = asyncio.get_running_loop().create_future()

    async def fetch():
        await reader.wait(wanted, max_wait_ms=max_wait_ms, min_bytes=min_bytes)
        answer.set_result(reader.read(wanted, max_bytes))

    task = start(fetch())
    if task is not None:
        answer.add_done_callback(lambda _: task.cancel())
    return answer


class Room:
    """Broker 1's partitions, and orders for them.

    Attributes:
        hosted: The partitions.
        metadata: What the broker knows of the cluster.
        logs: Its one log directory.
    """

    batch = staticmethod(batch)

    @staticmethod
    async def until(holds: Callable[[], object]) -> None:
        """Let the loop run until something holds that no event tells of."""
        deadline = time.monotonic() + 60
        while not holds():
            assert time.monotonic() < deadline
            await asyncio.sleep(0.001)

    def __init__(self, logs: LogDirs) -> None:
        self.logs = logs
        self.metadata = MetadataCache()
        settings = ReplicaSettings(lag_time_max_ms=1000, fetch_backoff_ms=10)
        self.hosted = HostedPartitions(BrokerId(1), logs, self.metadata, settings)

    def order(
        self,
        leader: int,
        epoch: int = 0,
        isr: tuple[int, ...] = (1, 2, 3),
        topic_partition: TopicPartition = TP,
        *,
        is_new: bool = True,
        identity: TopicIdentity | None = None,
    ) -> LeaderAndIsrPartition:
        state = PartitionState(LeaderAndIsr(leader, epoch, isr), 1)
        assignment = Assignment(REPLICAS)
        return LeaderAndIsrPartition(topic_partition, state, assignment, is_new, topic_identity=identity)

    def lead(
        self, epoch: int = 0, isr: tuple[int, ...] = (1, 2, 3), topic_partition: TopicPartition = TP
    ) -> HostedPartition:
        """Have broker 1 lead."""
        partition = self.hosted.host(topic_partition)
        partition.log.assign_epoch_start(epoch)
        partition.replica.become_leader(
            self.order(1, epoch, isr, topic_partition),
            partition.log.log_end_offset,
            time.monotonic_ns() // 10**6,
        )
        self.hosted.leadership_changed(partition)
        return partition

    def follow(
        self, leader: int = 2, epoch: int = 0, topic_partition: TopicPartition = TP
    ) -> HostedPartition:
        """Have broker 1 follow."""
        partition = self.hosted.host(topic_partition)
        partition.replica.become_follower(self.order(leader, epoch, topic_partition=topic_partition))
        self.hosted.leadership_changed(partition)
        return partition

    def know(self, *partitions: TopicPartition) -> None:
        """Have the metadata cache know these partitions and all three brokers."""
        state = PartitionState(LeaderAndIsr(2, 0, REPLICAS), 1)
        cached = tuple(UpdateMetadataPartition(each, state, REPLICAS) for each in partitions)
        self.metadata.apply(UpdateMetadataRequest(9, 1, 1, cached, BROKERS))

    def forget_brokers(self) -> None:
        """Have the metadata cache know no broker but this one."""
        alone = (Broker(BrokerId(1), 10, (Endpoint("GRPC", "127.0.0.1", 9001),)),)
        self.metadata.apply(UpdateMetadataRequest(9, 1, 1, (), alone))

    @staticmethod
    def write(partition: HostedPartition, *values: bytes) -> None:
        """Append to a leader's log without anyone being told."""
        partition.replica.before_append(partition.log.log_end_offset)
        partition.log.append_as_leader(batch(*values), partition.replica.leader_epoch)


@pytest.fixture
def log_config() -> LogConfig:
    """What the logs go by; a module may have its own."""
    return LogConfig(segment_index_bytes=16 * 1024)


@pytest.fixture
def room(tmp_path: Path, log_config: LogConfig) -> Iterator[Room]:
    """Broker 1, hosting nothing yet."""
    with ThreadPoolExecutor(1) as executor:
        options = LogDirsOptions(1, "A" * 22, lambda _topic: log_config, lambda _path: executor, lambda: 0)
        logs = LogDirs.open([tmp_path], options)
        yield Room(logs)
        logs.close()


class FakeFetchers:
    """What is fetched, by partition: leader, leader epoch and port."""

    def __init__(self):
        self.followed = {}

    def follow(self, topic_partition, leader_epoch, leader, endpoint):
        self.followed[topic_partition] = (leader, leader_epoch, endpoint.port)

    def stop(self, topic_partitions):
        for topic_partition in topic_partitions:
            self.followed.pop(topic_partition, None)

    def end_idle(self):
        pass


class Scene:
    """A leadership with what surrounds it.

    Attributes:
        brokers: The live ones, as requests name them.
    """

    brokers = BROKERS

    def __init__(self, room):
        self.room = room
        self.gate = ControlGate()
        self.gate.registered(50)
        self.fetchers = FakeFetchers()
        self.lines = []
        self.updates = 0
        self.control_requests = ControlRequests(
            room.hosted,
            room.metadata,
            self.gate,
            self.fetchers,
            write=self.lines.append,
            on_metadata=self.count_update,
        )

    def count_update(self, _):
        self.updates += 1

    @property
    def kinds(self):
        return [line.kind for line in self.lines]

    async def order(self, *partitions, controller_epoch=1, broker_epoch=50, live=BROKERS):
        request = LeaderAndIsrRequest(9, controller_epoch, broker_epoch, partitions, live)
        return await self.control_requests.leader_and_isr(request, 7)

    async def update(self, *partitions, controller_epoch=1, broker_epoch=50, live=BROKERS):
        request = UpdateMetadataRequest(9, controller_epoch, broker_epoch, partitions, live)
        return await self.control_requests.update_metadata(request, 7)

    async def stop(self, *partitions, controller_epoch=1, broker_epoch=50):
        request = StopReplicaRequest(
            9, controller_epoch, broker_epoch, tuple(StopReplicaPartition(*p) for p in partitions)
        )
        return await self.control_requests.stop_replica(request, 7)


@pytest.fixture
def scene(room):
    return Scene(room)


@pytest.fixture
def reader(room):
    return Reader(room.hosted)


@pytest.fixture
def partition(room):
    """Led in epoch 3; three batches of two records are written, two of them are committed."""
    partition = room.lead(epoch=3)
    for _ in range(3):
        room.write(partition, b"x", b"y")
    partition.replica.high_watermark = 4
    return partition


@pytest.fixture
def with_transactions(room):
    """Offset 0 is plain, 1 is of an aborted transaction whose marker is at 2, 3 of an open one, 4 plain."""
    made = room.lead(epoch=0, isr=(1,))
    for each in (
        build_batch(1, base_offset=0, epoch=0),
        transactional(build_batch(1, base_offset=1, epoch=0, producer=(7, 0, 0))),
        marker(0, (7, 0), 2),
        transactional(build_batch(1, base_offset=3, epoch=0, producer=(7, 0, 1))),
        build_batch(1, base_offset=4, epoch=0),
    ):
        made.log.append_as_follower(each)
    made.replica.high_watermark = 5
    return made
