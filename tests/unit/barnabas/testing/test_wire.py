"""The requests against what kio, an independent implementation, reads and writes."""

import asyncio
import contextlib
import io
import struct
from datetime import timedelta

import pytest
from kio.schema.create_topics.v2.request import CreateTopicsRequest
from kio.schema.create_topics.v2.response import CreatableTopicResult, CreateTopicsResponse
from kio.schema.delete_groups.v0.request import DeleteGroupsRequest
from kio.schema.delete_groups.v0.response import DeleteGroupsResponse
from kio.schema.delete_topics.v1.request import DeleteTopicsRequest
from kio.schema.delete_topics.v1.response import DeletableTopicResult, DeleteTopicsResponse
from kio.schema.errors import ErrorCode as Code
from kio.schema.list_groups.v0.request import ListGroupsRequest
from kio.schema.list_groups.v0.response import ListedGroup, ListGroupsResponse
from kio.schema.metadata.v4.request import MetadataRequest
from kio.schema.metadata.v4.response import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kio.schema.types import BrokerId, GroupId, TopicName
from kio.serial import entity_reader, entity_writer
from kio.static.primitive import i32, i32Timedelta

from barnabas.cluster.model.errors import ErrorCode
from barnabas.testing import wire

pytestmark = pytest.mark.usefixtures("nothing_is_left_open")

ZERO = i32Timedelta.parse(timedelta())


@pytest.fixture
async def broker():
    """Answers requests with ``answer``, and keeps the last request as kio reads it."""

    class Broker:
        request = None
        expects = answer = None

    async def serve(reader, writer):
        (size,) = struct.unpack(">i", await reader.readexactly(4))
        data = memoryview(await reader.readexactly(size))
        header, at = entity_reader(Broker.expects.__header_schema__)(data, 0)
        Broker.request, end = entity_reader(Broker.expects)(data, at)
        assert at + end == size
        out = io.BytesIO()
        entity_writer(type(Broker.answer))(out, Broker.answer)
        body = struct.pack(">i", header.correlation_id) + out.getvalue()
        writer.write(struct.pack(">i", len(body)) + body)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    Broker.address = f"127.0.0.1:{server.sockets[0].getsockname()[1]}"
    yield Broker
    server.close()


async def test_metadata(broker):
    broker.expects = MetadataRequest
    partitions = tuple(
        MetadataResponsePartition(
            error_code=Code.none,
            partition_index=i32(number),
            leader_id=BrokerId(leader),
            replica_nodes=(BrokerId(1), BrokerId(2)),
            isr_nodes=(BrokerId(1),),
        )
        for number, leader in ((0, 1), (1, -1))
    )
    broker.answer = MetadataResponse(
        throttle_time=ZERO,
        brokers=(
            MetadataResponseBroker(node_id=BrokerId(1), host="h", port=i32(9092), rack="a"),
            MetadataResponseBroker(node_id=BrokerId(2), host="h", port=i32(9093), rack=None),
        ),
        cluster_id=None,
        controller_id=BrokerId(2),
        topics=(
            MetadataResponseTopic(
                error_code=Code.none, name=TopicName("orders"), is_internal=False, partitions=partitions
            ),
        ),
    )
    found = await wire.metadata(broker.address)
    assert found == wire.Metadata(frozenset({1, 2}), 2, {("orders", 0): 1, ("orders", 1): -1})
    assert broker.request.topics is None
    assert broker.request.allow_auto_topic_creation is False


async def test_creation(broker):
    broker.expects = CreateTopicsRequest
    broker.answer = CreateTopicsResponse(
        throttle_time=ZERO,
        topics=(
            CreatableTopicResult(
                name=TopicName("orders"), error_code=Code.invalid_replication_factor, error_message="too many"
            ),
        ),
    )
    outcome = await wire.create_topic(
        broker.address,
        "orders",
        partitions=-1,
        replication_factor=-1,
        configs={"retention.ms": "1"},
        assignment={0: [1, 2]},
        timeout_ms=1500,
    )
    assert outcome == (ErrorCode.INVALID_REPLICATION_FACTOR, "too many")
    (topic,) = broker.request.topics
    assert (topic.name, topic.num_partitions, topic.replication_factor) == ("orders", -1, -1)
    assert [(each.partition_index, each.broker_ids) for each in topic.assignments] == [(0, (1, 2))]
    assert [(each.name, each.value) for each in topic.configs] == [("retention.ms", "1")]
    assert broker.request.timeout.total_seconds() == 1.5
    assert broker.request.validate_only is False


async def test_deletion(broker):
    broker.expects = DeleteTopicsRequest
    broker.answer = DeleteTopicsResponse(
        throttle_time=ZERO,
        responses=(DeletableTopicResult(name=TopicName("a"), error_code=Code.not_controller),),
    )
    assert await wire.delete_topics(broker.address, ["a"], 1000) == {"a": ErrorCode.NOT_CONTROLLER}
    assert broker.request.topic_names == ("a",)


async def test_groups(broker):
    broker.expects = ListGroupsRequest
    broker.answer = ListGroupsResponse(
        error_code=Code.none, groups=(ListedGroup(group_id=GroupId("g"), protocol_type="consumer"),)
    )
    assert await wire.groups(broker.address) == ["g"]
    broker.expects = DeleteGroupsRequest
    broker.answer = DeleteGroupsResponse(throttle_time=ZERO, results=())
    await wire.delete_groups(broker.address, ["g", "h"])
    assert broker.request.groups_names == ("g", "h")


async def test_a_connection_that_ends_is_an_error():
    server = await asyncio.start_server(lambda _reader, writer: writer.close(), "127.0.0.1", 0)
    with pytest.raises(ConnectionError):
        await wire.groups(f"127.0.0.1:{server.sockets[0].getsockname()[1]}")
    server.close()


async def test_a_broker_that_does_not_answer_is_an_error_in_time(monkeypatch):
    monkeypatch.setattr(wire, "ANSWER_S", 0.05)
    given_up = asyncio.Event()

    async def hold(reader, writer):
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()
        given_up.set()

    silent = await asyncio.start_server(hold, "127.0.0.1", 0)
    port = silent.sockets[0].getsockname()[1]
    try:
        with pytest.raises(TimeoutError, match=f"127.0.0.1:{port} did not answer within 0.05 s"):
            await wire.groups(f"127.0.0.1:{port}")
        await given_up.wait()
    finally:
        silent.close()
