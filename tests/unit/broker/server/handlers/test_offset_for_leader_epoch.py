from __future__ import annotations

import pytest

from barnabas.broker.replicas.interface import EpochEnd
from barnabas.broker.server.handlers.offset_for_leader_epoch import handle
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@pytest.mark.parametrize("version", range(5))
async def test_each_partition_gets_the_end_of_its_epoch(broker, schema, request_of, version):
    broker.reads.ends[TopicPartition("orders", 1), 5] = EpochEnd(ErrorCode.NONE, 4, 99)
    s = schema(23, version)
    partitions = tuple(
        s.OffsetForLeaderPartition(
            partition=number, leader_epoch=5, **({"current_leader_epoch": 7} if version >= 2 else {})
        )
        for number in (0, 1)
    )
    body = s.request(topics=(s.OffsetForLeaderTopic(topic="orders", partitions=partitions),))
    (topic,) = (await handle(broker.context, request_of(23, version, body))).topics
    unknown, known = topic.partitions
    assert (unknown.partition, unknown.error_code) == (0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    assert unknown.end_offset == -1
    assert (known.partition, known.error_code) == (1, ErrorCode.NONE)
    assert known.end_offset == 99
    if version >= 1:
        assert (unknown.leader_epoch, known.leader_epoch) == (-1, 4)
    assert broker.reads.epochs == ([7, 7] if version >= 2 else [-1, -1])
