"""The offsets that are listed by time, for consumers, other brokers and debugging tools."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from barnabas.broker.core.offsets_before import MAX_TIMESTAMP
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.interface import (
    CONSUMER,
    DEBUGGING_CONSUMER,
    EARLIEST_LOCAL_TIMESTAMP,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from tests.unit.broker.conftest import build_batch

TP = TopicPartition("t", 0)


OTHER = TopicPartition("u", 0)


@pytest.mark.usefixtures("partition")
async def test_listed_offsets(reader):
    latest = await reader.list_offset(TP, LATEST_TIMESTAMP)
    assert (latest.error, latest.offset, latest.leader_epoch) == (ErrorCode.NONE, 4, 3)
    earliest = await reader.list_offset(TP, EARLIEST_TIMESTAMP)
    assert (earliest.offset, earliest.leader_epoch) == (0, 3)
    found = await reader.list_offset(TP, 1_700_000_000_001)
    assert (found.offset, found.timestamp, found.leader_epoch) == (1, 1_700_000_000_001, 3)
    assert (await reader.list_offset(TP, 1_800_000_000_000)).offset == -1
    assert (await reader.list_offset(OTHER, LATEST_TIMESTAMP)).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_new_leader_does_not_know_the_end_yet(room, reader, partition):
    room.lead(epoch=4)
    assert partition.replica.epoch_start_offset == 6
    for timestamp in (LATEST_TIMESTAMP, 1_800_000_000_000):
        assert (await reader.list_offset(TP, timestamp)).error is ErrorCode.OFFSET_NOT_AVAILABLE
    assert (await reader.list_offset(TP, 1_700_000_000_001)).offset == 1
    assert (await reader.list_offset(TP, EARLIEST_TIMESTAMP)).offset == 0


async def test_a_lookup_by_time_among_records_that_nobody_can_read(room, reader, patch_batch):
    partition = room.lead(isr=(1,))
    liar = patch_batch(room.batch(b"a", b"b"), 21, b"\x00\x04")
    partition.log.append_as_leader(liar, partition.replica.leader_epoch)
    room.hosted.grew(partition)
    assert (await reader.list_offset(TP, 5)).error is ErrorCode.CORRUPT_MESSAGE


async def test_a_lookup_by_time_whose_log_is_closed_meanwhile_fails_no_disk(room, reader, patch_batch):
    partition = room.lead(isr=(1,))
    # The header promises a later record than there is, so the lookup goes on behind a pause.
    liar = patch_batch(build_batch(2, timestamps=[10, 20], codec=1), 35, (99).to_bytes(8))
    partition.log.append_as_leader(liar, partition.replica.leader_epoch)
    looking = asyncio.ensure_future(reader.list_offset(TP, 50))
    await asyncio.sleep(0)
    assert not looking.done()
    room.hosted.remove(TP, delete=True)
    assert (await looking).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert list(room.hosted.offline) == []


async def test_a_lookup_by_time_on_a_disk_that_fails(room, reader, monkeypatch):
    partition = room.lead(isr=(1,))
    monkeypatch.setattr(
        partition.log, "batch_since", Mock(side_effect=KafkaStorageError(room.logs.live[0], "reading"))
    )
    assert (await reader.list_offset(TP, 5)).error is ErrorCode.KAFKA_STORAGE_ERROR
    assert list(room.hosted.offline) == [TP]


async def test_read_committed_offsets_end_there_too(reader, with_transactions):
    assert (await reader.list_offset(TP, LATEST_TIMESTAMP)).offset == 5
    assert (await reader.list_offset(TP, LATEST_TIMESTAMP, read_committed=True)).offset == 3
    time = 1_700_000_000_000
    with_transactions.log.append_as_follower(build_batch(1, base_offset=5, epoch=0, timestamps=[time + 9]))
    with_transactions.replica.high_watermark = 6
    assert (await reader.list_offset(TP, time + 9)).offset == 5
    assert (await reader.list_offset(TP, time + 9, read_committed=True)).offset == -1


async def test_the_largest_timestamp_is_listed_below_the_high_watermark(room, reader):
    partition = room.lead()
    partition.log.append_as_leader(build_batch(3, timestamps=[5, 9, 9], codec=4), 0)
    partition.log.append_as_leader(build_batch(1, timestamps=[7]), 0)
    assert (await reader.list_offset(TP, MAX_TIMESTAMP)).offset == -1
    partition.replica.high_watermark = 4
    listed = await reader.list_offset(TP, MAX_TIMESTAMP)
    assert (listed.error, listed.timestamp, listed.offset) == (ErrorCode.NONE, 9, 1)
    assert (await reader.list_offset(TP, EARLIEST_LOCAL_TIMESTAMP)).offset == 0


def test_version_0_knows_no_time_below_the_earliest(reader, partition):
    assert reader.offsets_before(TP, -3, 9, -1) is ErrorCode.UNSUPPORTED_VERSION


async def test_old_consumers_see_the_starts_of_segments_and_the_high_watermark(room, reader, partition):
    partition.log.seal_active()
    room.write(partition, b"z")
    assert list(reader.offsets_before(TP, -1, 9, -1)) == [4, 0]
    assert list(reader.offsets_before(TP, -1, 9, -2)) == [7, 6, 0]
    assert list(reader.offsets_before(TP, 0, 9, -2)) == []


async def test_followers_tell_old_offsets_to_tools_alone(room, reader):
    room.know(TP)
    assert reader.offsets_before(TP, -1, 1, -2) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    room.follow()
    assert reader.offsets_before(TP, -1, 1, -1) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert list(reader.offsets_before(TP, -2, 1, -2)) == [0]


async def test_a_segment_that_is_gone_fails_its_directory(room, reader, partition):
    for span in partition.log.spans():
        span.path.unlink()
    assert reader.offsets_before(TP, -1, 1, -1) is ErrorCode.KAFKA_STORAGE_ERROR
    assert room.hosted.get(TP) is None


@pytest.mark.usefixtures("partition")
@pytest.mark.parametrize("replica_id", [DEBUGGING_CONSUMER, 2])
@pytest.mark.parametrize("read_committed", [False, True])
async def test_who_is_no_consumer_lists_up_to_the_end_of_the_log(reader, replica_id, read_committed):
    for who, end in ((replica_id, 6), (CONSUMER, 4)):
        latest = await reader.list_offset(TP, LATEST_TIMESTAMP, read_committed=read_committed, replica_id=who)
        assert (latest.error, latest.offset) == (ErrorCode.NONE, end)


@pytest.mark.usefixtures("partition")
async def test_a_new_leaders_high_watermark_matters_to_consumers_alone(room, reader):
    room.lead(epoch=4)
    assert (await reader.list_offset(TP, LATEST_TIMESTAMP)).error is ErrorCode.OFFSET_NOT_AVAILABLE
    for replica_id in (DEBUGGING_CONSUMER, 2):
        assert (await reader.list_offset(TP, LATEST_TIMESTAMP, replica_id=replica_id)).offset == 6


@pytest.mark.usefixtures("partition")
@pytest.mark.parametrize(
    ("timestamp", "offset"), [(LATEST_TIMESTAMP, 6), (EARLIEST_TIMESTAMP, 0), (1_700_000_000_001, 1)]
)
async def test_a_follower_lists_offsets_for_a_debugging_consumer_alone(room, reader, timestamp, offset):
    room.follow(epoch=4)
    listed = await reader.list_offset(TP, timestamp, replica_id=DEBUGGING_CONSUMER)
    assert (listed.error, listed.offset) == (ErrorCode.NONE, offset)
    for replica_id in (CONSUMER, 2):
        listed = await reader.list_offset(TP, timestamp, replica_id=replica_id)
        assert listed.error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    fenced = await reader.list_offset(TP, timestamp, 3, replica_id=DEBUGGING_CONSUMER)
    assert fenced.error is ErrorCode.FENCED_LEADER_EPOCH
