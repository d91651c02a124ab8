"""The offsets that consumers, other brokers and debugging tools are told by replica id."""

from __future__ import annotations

import pytest

from barnabas.broker.replicas.interface import (
    CONSUMER,
    DEBUGGING_CONSUMER,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
)
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

TP = TopicPartition("t", 0)


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
