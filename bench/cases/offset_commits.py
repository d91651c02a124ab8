"""The commits a second that one group coordinator takes."""

from __future__ import annotations

import asyncio
import io
import struct
import time
from collections.abc import Callable
from functools import partial

import confluent_kafka.admin
from kio.schema.offset_commit.v7.request import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kio.schema.request_header.v1.header import RequestHeader
from kio.schema.types import GroupId, TopicName
from kio.serial import entity_writer
from kio.static.primitive import i32, i64

from barnabas.bench.clients.group_members import find_coordinator
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.local.cluster import LocalCluster

TOPIC = "committed"
CONSUMERS = 50
"""The consumers, each in a group of its own, over a connection with one request at a time."""

MANY = 100
"""The partitions in each of the larger commits."""

_LENGTH = struct.Struct(">i")
_CREATION_S = 90.0


class RefusedCommitError(Exception):
    """An error if a partition's commit was refused; the text has the answer."""


def request_of(group: str, partitions: int) -> bytes:
    """Return an OffsetCommit of a consumer without group management, with its length in front."""
    body = io.BytesIO()
    request = OffsetCommitRequest(
        group_id=GroupId(group),
        generation_id_or_member_epoch=i32(-1),
        member_id="",
        topics=(
            OffsetCommitRequestTopic(
                name=TopicName(TOPIC),
                partitions=tuple(
                    OffsetCommitRequestPartition(
                        partition_index=i32(number), committed_offset=i64(7), committed_metadata=""
                    )
                    for number in range(partitions)
                ),
            ),
        ),
    )
    header = RequestHeader(
        request_api_key=request.__api_key__,
        request_api_version=request.__version__,
        correlation_id=i32(0),
        client_id="bench",
    )
    entity_writer(RequestHeader)(body, header)
    entity_writer(OffsetCommitRequest)(body, request)
    return _LENGTH.pack(body.tell()) + body.getvalue()


def answer_of(partitions: int) -> bytes:
    """Return the answer without an error, with its length in front."""
    each = b"".join(struct.pack(">ih", number, 0) for number in range(partitions))
    name = TOPIC.encode()
    body = struct.pack(">iiih", 0, 0, 1, len(name)) + name + struct.pack(">i", partitions) + each
    return _LENGTH.pack(len(body)) + body


class Consumer(asyncio.Protocol):
    """A consumer that commits again as soon as its commit is answered.

    Attributes:
        acknowledged: The number of its requests that were answered without an error.
        ended: Set to None when it has stopped, or to the error of a commit that was refused.
    """

    def __init__(self, group: str, partitions: int) -> None:
        self.acknowledged = 0
        self.ended: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._request, self._expected = request_of(group, partitions), answer_of(partitions)
        self._received = bytearray()
        self._commit: Callable[[bytes], None] = lambda _: None
        self._is_stopping = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Commit for the first time."""
        assert isinstance(transport, asyncio.WriteTransport)
        self._commit = transport.write
        self._commit(self._request)

    def data_received(self, data: bytes) -> None:
        """Commit again once the answer is whole."""
        self._received += data
        if len(self._received) < len(self._expected):
            return
        if self._received != self._expected:
            self.ended.set_exception(RefusedCommitError(f"the answer is {bytes(self._received[:100])!r}"))
        elif self._is_stopping:
            self.ended.set_result(None)
        else:
            self._received.clear()
            self.acknowledged += 1
            self._commit(self._request)

    def stop(self) -> None:
        """Stop with the next answer."""
        self._is_stopping = True


async def requests_per_s(bootstrap: str, partitions: int, seconds: int) -> float:
    """Return the requests a second that a coordinator acknowledges; each commits a number of partitions."""
    loop = asyncio.get_running_loop()
    host, port = await find_coordinator(bootstrap, "committing")
    consumers = []
    for number in range(CONSUMERS):
        consumer = partial(Consumer, f"committing-{number}", partitions)
        _, connected = await loop.create_connection(consumer, host, port)
        consumers.append(connected)
    before, began = sum(each.acknowledged for each in consumers), time.perf_counter()
    await asyncio.sleep(seconds)
    done, lasted = sum(each.acknowledged for each in consumers) - before, time.perf_counter() - began
    for each in consumers:
        each.stop()
    await asyncio.gather(*(each.ended for each in consumers))
    return done / lasted


async def _wait_until_served(bootstrap: str) -> None:
    """Wait until a commit is acknowledged: the coordinator may still be loading, or a replica catching up."""
    host, port = await find_coordinator(bootstrap, "committing")
    while True:
        _, first = await asyncio.get_running_loop().create_connection(
            lambda: Consumer("committing-0", 1), host, port
        )
        first.stop()
        try:
            await first.ended
        except RefusedCommitError:
            await asyncio.sleep(0.1)
        else:
            return


async def _measure(cluster: LocalCluster, seconds: int) -> Run:
    await _wait_until_served(cluster.bootstrap)
    rates, details = {}, {}
    for partitions in (1, MANY):
        meter = CpuMeter(broker_pids(cluster))
        rate = rates[partitions] = await requests_per_s(cluster.bootstrap, partitions, seconds)
        cpu_ms = 1000 * sum(meter.spent().values()) / (rate * seconds)
        details[f"ms of CPU of three brokers for a request of {partitions}"] = cpu_ms
    return Run(rates[MANY] * MANY, {"requests/s of one partition each": rates[1], **details})


def measure(seconds: int) -> Run:
    """Let consumers commit a hundred partitions at a time, and one at a time."""
    with running_cluster({"offsets.topic.num.partitions": "1"}) as cluster:
        admin = confluent_kafka.admin.AdminClient({"bootstrap.servers": cluster.bootstrap})
        admin.create_topics([confluent_kafka.admin.NewTopic(TOPIC, MANY, 1)])[TOPIC].result(_CREATION_S)
        return asyncio.run(_measure(cluster, seconds))


BENCHES = (
    Bench(
        name="offset-commits",
        question="How many committed offsets a second does one coordinator acknowledge, 100 in a request?",
        unit="commits/s",
        target=at_least(10_000.0),
        measure=measure,
        sizes={"seconds": 10},
    ),
)
