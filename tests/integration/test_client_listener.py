"""The real listener, in this process, over a store in memory, driven by three real clients."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
from collections import defaultdict
from types import SimpleNamespace
from unittest.mock import AsyncMock

import aiokafka
import confluent_kafka
import confluent_kafka.admin
import kafka
import pytest

from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.quotas.connection_quotas import ConnectionLimits
from barnabas.broker.replicas.interface import Appended, EpochEnd, Fetched, ListedOffset
from barnabas.broker.server.context import ServerContext, ServerSettings
from barnabas.broker.server.metadata_purgatories import MetadataPurgatories
from barnabas.broker.server.network.acceptor import ConnectionQuotas
from barnabas.broker.server.network.clients import ClientListener
from barnabas.broker.server.quotas import ClientQuotas
from barnabas.broker.server.request_meter import RequestMeter
from barnabas.cluster.model.brokers import Broker, Endpoint
from barnabas.cluster.model.commands.topics import CreateTopicsResult, TopicResult
from barnabas.cluster.model.configs.broker import BROKER_CONFIGS
from barnabas.cluster.model.configs.declarations import with_defaults
from barnabas.cluster.model.configs.described import BrokerSettings
from barnabas.cluster.model.epochs import BrokerEpoch, ControllerEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.model.partition import LeaderAndIsr, PartitionState
from barnabas.cluster.model.requests import UpdateMetadataPartition, UpdateMetadataRequest
from barnabas.cluster.runtime.metrics import Metrics

ME = BrokerId(1)


class MemoryReplicas:
    """Appends and reads of batches kept in lists, all committed at once."""

    def __init__(self):
        self.batches = defaultdict(list)
        self.grown = asyncio.Event()

    def end(self, topic_partition):
        batches = self.batches[topic_partition]
        return batches[-1][0] + batches[-1][1] if batches else 0

    def prepare(self, batches):
        return None

    def append(self, batches, *, acks, timeout_ms, allow_zstd=True, allow_internal_topics=False):
        results = {}
        for topic_partition, records in batches.items():
            base = self.end(topic_partition)
            count = struct.unpack_from(">i", records, 23)[0] + 1
            self.batches[topic_partition].append((base, count, struct.pack(">q", base) + records[8:]))
            results[topic_partition] = Appended(ErrorCode.NONE, base, log_start_offset=0)
        self.grown.set()
        self.grown = asyncio.Event()
        answer = asyncio.get_running_loop().create_future()
        answer.set_result(results)
        return answer

    def fetch(self, partitions, *, max_wait_ms, min_bytes, max_bytes):
        return asyncio.ensure_future(self._fetch(partitions, max_wait_ms))

    async def _fetch(self, partitions, max_wait_ms):
        deadline = time.monotonic() + max_wait_ms / 1000
        while not any(self.end(tp) > asked.offset for tp, asked in partitions.items()):
            left = deadline - time.monotonic()
            if left <= 0:
                break
            try:
                await asyncio.wait_for(self.grown.wait(), left)
            except TimeoutError:
                break
        return {tp: self._read(tp, asked.offset) for tp, asked in partitions.items()}

    def _read(self, topic_partition, offset):
        end = self.end(topic_partition)
        records = b"".join(
            batch for base, count, batch in self.batches[topic_partition] if base + count > offset
        )
        return Fetched(ErrorCode.NONE, records, end, end, 0)

    async def list_offset(
        self, topic_partition, timestamp, current_leader_epoch=-1, *, read_committed=False, replica_id=-1
    ):
        return ListedOffset(ErrorCode.NONE, offset=0 if timestamp == -2 else self.end(topic_partition))

    def end_offset_for(self, topic_partition, leader_epoch, current_leader_epoch=-1):
        return EpochEnd(ErrorCode.NONE, leader_epoch, self.end(topic_partition))


class MemoryController:
    """A controller that creates topics by telling the metadata cache."""

    def __init__(self, metadata, purgatories):
        self.metadata, self.purgatories = metadata, purgatories
        self.brokers = ()

    async def submit(self, command, timeout_ms):
        for topic in command.topics:
            self.create(topic.name, max(1, topic.partitions))
        return CreateTopicsResult(
            tuple(TopicResult(t.name, ErrorCode.NONE, None, max(1, t.partitions), 1) for t in command.topics)
        )

    def create(self, *topics_and_partitions):
        topic, partitions = topics_and_partitions
        state = PartitionState(LeaderAndIsr.initial(ME, (ME,)), ControllerEpoch(1))
        change = self.metadata.apply(
            UpdateMetadataRequest(
                ME,
                ControllerEpoch(1),
                BrokerEpoch(1),
                tuple(
                    UpdateMetadataPartition(TopicPartition(topic, number), state, (ME,))
                    for number in range(partitions)
                ),
                self.brokers,
            )
        )
        self.purgatories.changed(change)


class CountingProducerIds:
    def __init__(self):
        self.ids = itertools.count(4000)

    async def next_id(self):
        return next(self.ids)


class NoOffsetsTopic:
    """There are no groups: whoever asks for a coordinator is told to ask again."""

    exists = False

    def create(self):
        pass

    def partition_of(self, group_id):
        return 0

    def leader(self, partition):
        return None


class NoOverrides:
    async def overrides(self, topics):
        return {}


GIVEN = {"zookeeper.connect": "z", "max.connections": 100}


@pytest.fixture
async def bootstrap():
    metadata, purgatories, replicas = MetadataCache(), MetadataPurgatories(), MemoryReplicas()
    controller = MemoryController(metadata, purgatories)
    context = ServerContext(
        ME,
        "cluster-of-one",
        ServerSettings(),
        metadata,
        purgatories,
        replicas,
        replicas,
        replicas,
        replicas,
        controller,
        controller,
        CountingProducerIds(),
        RequestMeter(Metrics()),
        NoOverrides(),
        lambda: BrokerSettings(with_defaults(BROKER_CONFIGS, GIVEN), {}),
        SimpleNamespace(topic=NoOffsetsTopic()),
        ClientQuotas({}, 11, 1),
        lambda: None,
        lambda: None,
        await_propagation=AsyncMock(),
    )
    listener = ClientListener(
        context, ConnectionQuotas(lambda: ConnectionLimits(10_000), 10_000), "PLAINTEXT"
    )
    bound = socket.create_server(("127.0.0.1", 0))
    bound.settimeout(0)
    listener.start_on(bound)
    port = bound.getsockname()[1]
    controller.brokers = (Broker(ME, BrokerEpoch(1), (Endpoint("PLAINTEXT", "127.0.0.1", port),)),)
    metadata.controller_changed(ME)
    controller.create("orders", 3)
    yield f"127.0.0.1:{port}"
    await listener.stop()


VALUES = [f"value-{number}".encode() for number in range(200)]


def through_confluent(bootstrap, compression, idempotent):
    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "enable.idempotence": idempotent,
            "acks": "all",
            "compression.type": compression,
            "linger.ms": 1,
        }
    )
    for value in VALUES:
        producer.produce("orders", value, partition=1)
    assert producer.flush(20) == 0
    consumer = confluent_kafka.Consumer(
        {"bootstrap.servers": bootstrap, "group.id": "g", "enable.auto.commit": False}
    )
    consumer.assign([confluent_kafka.TopicPartition("orders", 1, 0)])
    read = []
    while len(read) < len(VALUES):
        message = consumer.poll(20)
        assert message is not None
        assert message.error() is None
        read.append(message.value())
    consumer.close()
    return read


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_confluent_kafka_reads_what_it_wrote(bootstrap, compression):
    assert await asyncio.to_thread(through_confluent, bootstrap, compression, idempotent=False) == VALUES


async def test_confluent_kafka_is_idempotent(bootstrap):
    assert await asyncio.to_thread(through_confluent, bootstrap, "none", idempotent=True) == VALUES


async def test_confluent_kafka_lists_and_creates_topics(bootstrap):
    def run():
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": bootstrap})
        before = admin.list_topics(timeout=20)
        created = admin.create_topics([confluent_kafka.admin.NewTopic("payments", 4, 1)])
        created["payments"].result(20)
        return before, admin.list_topics(timeout=20)

    before, after = await asyncio.to_thread(run)
    assert {name: len(topic.partitions) for name, topic in before.topics.items()} == {"orders": 3}
    assert {name: len(topic.partitions) for name, topic in after.topics.items()} == {
        "orders": 3,
        "payments": 4,
    }
    assert after.cluster_id == "cluster-of-one"
    assert after.controller_id == ME


async def test_kafka_python_reads_what_it_wrote(bootstrap):
    def run():
        producer = kafka.KafkaProducer(bootstrap_servers=bootstrap)
        for value in VALUES:
            producer.send("orders", value, partition=2)
        producer.flush(20)
        producer.close()
        consumer = kafka.KafkaConsumer(bootstrap_servers=bootstrap, consumer_timeout_ms=20_000)
        partition = kafka.TopicPartition("orders", 2)
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        assert consumer.end_offsets([partition]) == {partition: len(VALUES)}
        read = [record.value for record in itertools.islice(consumer, len(VALUES))]
        consumer.close()
        return read

    assert await asyncio.to_thread(run) == VALUES


async def test_kafka_python_creates_topics(bootstrap):
    def run():
        admin = kafka.KafkaAdminClient(bootstrap_servers=bootstrap)
        admin.create_topics([kafka.admin.NewTopic("payments", num_partitions=2, replication_factor=1)])
        topics = admin.list_topics()
        admin.close()
        return topics

    assert set(await asyncio.to_thread(run)) == {"orders", "payments"}


async def test_aiokafka_reads_what_it_wrote_and_a_missing_topic_is_created(bootstrap):
    async with aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for value in VALUES:
            await producer.send("made-on-demand", value, partition=0)
    async with aiokafka.AIOKafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        partition = aiokafka.TopicPartition("made-on-demand", 0)
        consumer.assign([partition])
        await consumer.seek_to_beginning(partition)
        assert [(await consumer.getone()).value for _ in VALUES] == VALUES
