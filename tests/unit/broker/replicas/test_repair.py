"""A damaged segment is fetched from another broker's log, over a real stream, or left as it is."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from itertools import product
from unittest.mock import AsyncMock

import grpc.aio
import pytest

from barnabas.broker.cleaning.log_cleaner import LogCleaner
from barnabas.broker.core.metadata_cache import MetadataCache
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.replicas.hosted import HostedPartitions
from barnabas.broker.replicas.ranges import RangeReader
from barnabas.broker.replicas.repair import READ_RANGE_METHOD, RangeUnavailableError, fetch_again
from barnabas.cluster.model.brokers import Endpoint
from barnabas.cluster.model.ids import BrokerId, TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb
from tests.batches import keyed_batch
from tests.compaction import SETTINGS, Inline, last_values, values

TP = TopicPartition("t", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=100, segment_index_bytes=16 * 1024)


@pytest.fixture
def partition(room):
    """Four records, each in a segment of its own; all but the first are committed."""
    made = room.lead(isr=(1, 2))
    for value in (b"a", b"b", b"c", b"d"):
        room.write(made, value)
    made.replica.high_watermark = 3
    made.log.flush()  # what the rolls have left to do is done
    return made


@asynccontextmanager
async def serving(room, log_config, directory):
    """Broker 2, which follows and has no record yet; its partitions, the replica, and its gRPC endpoint."""
    with ThreadPoolExecutor(1) as executor:
        options = LogDirsOptions(2, "A" * 22, lambda _topic: log_config, lambda _path: executor, lambda: 0)
        logs = LogDirs.open([directory], options)
        hosted = HostedPartitions(BrokerId(2), logs, MetadataCache(), room.hosted.settings)
        follower = hosted.host(TP)
        follower.replica.become_follower(room.order(1, 0, (1, 2)))
        ranges = RangeReader(hosted)

        async def handle(request, _context):
            return ranges.read(request)

        method = grpc.unary_unary_rpc_method_handler(
            handle,
            request_deserializer=pb.ReadRangeRequest.FromString,
            response_serializer=pb.ReadRangeResponse.SerializeToString,
        )
        service, name = READ_RANGE_METHOD[1:].split("/")
        server = grpc.aio.server()
        server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {name: method}),))
        port = server.add_insecure_port("127.0.0.1:0")
        await server.start()
        yield hosted, follower, Endpoint("GRPC", "127.0.0.1", port)
        await server.stop(None)
        logs.close()


@pytest.fixture
async def other(room, partition, log_config, tmp_path_factory):
    """Broker 2, which has the same four; its gRPC endpoint."""
    async with serving(room, log_config, tmp_path_factory.mktemp("other")) as (_, follower, endpoint):
        for offset in range(4):
            follower.log.append_as_follower(partition.log.read(offset, 1000, 4).records)
        follower.replica.follow_high_watermark(3, 0, 4)
        yield follower, endpoint


def damage(partition, number):
    span = partition.log.spans()[number]
    sound = span.path.read_bytes()
    with span.path.open("r+b") as file:
        file.write(bytes(30))
    return span, sound


async def test_the_damaged_segment_is_whole_again_and_nothing_else_has_changed(room, partition, other):
    _, endpoint = other
    span, sound = damage(partition, 1)
    names = sorted(path.name for path in span.path.parent.iterdir())
    await fetch_again(partition, span, 0, AsyncMock(), source=endpoint, session_timeout_ms=6000)
    assert span.path.read_bytes() == sound
    assert partition.log.read(1, 1000, 4).records == sound
    assert partition.log.damaged_spans() == []
    partition.log.flush()
    assert sorted(path.name for path in span.path.parent.iterdir()) == names
    assert [len(each.path.read_bytes()) for each in partition.log.spans()] == [len(sound)] * 4


async def test_what_cannot_be_had_whole_changes_nothing(room, partition, other):
    follower, endpoint = other
    span, _ = damage(partition, 1)
    hurt = span.path.read_bytes()
    names = sorted(path.name for path in span.path.parent.iterdir())

    async def fails(match, *, is_damaged=False):
        with pytest.raises(RangeUnavailableError, match=match) as caught:
            await fetch_again(partition, span, 0, AsyncMock(), source=endpoint, session_timeout_ms=6000)
        assert caught.value.is_damaged is is_damaged
        assert span.path.read_bytes() == hurt
        assert sorted(path.name for path in span.path.parent.iterdir()) == names

    follower.replica.high_watermark = 1
    await fails("offset 1 is not committed there yet")
    follower.replica.high_watermark = 3
    damage(follower, 1)
    await fails("CORRUPT_MESSAGE", is_damaged=True)
    follower.replica.become_follower(room.order(1, 7))
    await fails("FENCED_LEADER_EPOCH")
    endpoint = Endpoint("GRPC", "127.0.0.1", 1)
    await fails("UNAVAILABLE")


async def test_a_log_that_was_truncated_meanwhile_keeps_what_it_has(partition, other):
    _, endpoint = other
    span, _ = damage(partition, 1)
    partition.log.truncate_to(3)
    with pytest.raises(RangeUnavailableError, match="has changed"):
        await fetch_again(partition, span, 0, AsyncMock(), source=endpoint, session_timeout_ms=6000)


async def test_a_log_that_is_deleted_meanwhile_takes_no_directory_along(room, partition, other):
    _, endpoint = other
    span, _ = damage(partition, 1)
    room.hosted.remove(TP, delete=True)
    with pytest.raises(Exception, match=r"is closed|has changed"):
        await fetch_again(partition, span, 0, AsyncMock(), source=endpoint, session_timeout_ms=6000)
    assert room.logs.offline == {}


COMPACTED = LogConfig(
    segment_bytes=240,
    segment_index_bytes=16 * 1024,
    cleanup_policy=frozenset({"compact"}),
    min_cleanable_dirty_ratio=0.0,
    delete_retention_ms=0,
)
RECORDS = [(b"k", b"deleted"), (b"m", b"deleted"), *((b"%d" % n, b"old") for n in range(3))]
RECORDS += [(b"k", None), *((b"%d" % n, b"new") for n in range(4)), (b"m", None)]
RECORDS += [(b"%d" % n, b"newer") for n in range(2, 9)]
CLEANED_UP_TO = (0, 10, len(RECORDS))
"""The high watermark at each of the cleanings; the last of them drops tombstones."""


async def clean_times(hosted, replica, times):
    cleaner = LogCleaner(hosted, lambda: SETTINGS, Inline)
    for span in replica.log.spans():
        os.utime(span.path, (1000, 1000))  # no tombstone is younger than the clean section
    for end in CLEANED_UP_TO[: times + 1]:
        replica.replica.high_watermark = end
        await cleaner.clean_filthiest(0, Inline())
    replica.replica.high_watermark = replica.log.log_end_offset
    replica.log.flush()  # what the swaps have left to do is done


@pytest.mark.parametrize("number", range(3))
@pytest.mark.parametrize("cleanings", list(product(range(3), repeat=2)))
@pytest.mark.parametrize("log_config", [COMPACTED])
async def test_a_repair_brings_no_deleted_key_back(room, log_config, tmp_path_factory, cleanings, number):
    """A segment comes from a replica that was cleaned less often, more often, or as often."""
    ours, theirs = cleanings
    partition = room.lead(isr=(1, 2))
    async with serving(room, log_config, tmp_path_factory.mktemp("other")) as (hosted, follower, endpoint):
        for offset, record in enumerate(RECORDS):
            partition.log.append_as_leader(keyed_batch([record]), partition.replica.leader_epoch)
            follower.log.append_as_follower(keyed_batch([record], base_offset=offset))
        truth = values(partition.log)
        await clean_times(room.hosted, partition, ours)
        await clean_times(hosted, follower, theirs)
        kept = {key for key, value in last_values(partition.log).items() if value is None}
        assert (values(partition.log), kept) == (truth, set() if ours == 2 else {b"k", b"m"})
        span, _ = damage(partition, number)
        dirty, replaced = [], []
        replace = partition.log.replace_segment

        async def dirty_from(offset):
            dirty.append(offset)

        def replace_segment(span, new):
            assert span.base_offset >= min(dirty), "after a crash, the cleaner would take it for clean"
            replaced.append(span)
            return replace(span, new)

        partition.log.replace_segment = replace_segment
        await fetch_again(
            partition,
            span,
            room.logs.cleaner_offset(TP) or 0,
            dirty_from,
            source=endpoint,
            session_timeout_ms=6000,
        )
        assert replaced
        assert values(partition.log) == truth
