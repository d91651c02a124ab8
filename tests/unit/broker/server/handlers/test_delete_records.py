from __future__ import annotations

import datetime as dt

import pytest

from barnabas.broker.replicas.interface import Deleted
from barnabas.broker.server.handlers.delete_records import handle
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@pytest.mark.parametrize("version", range(3))
async def test_each_partition_is_answered_with_its_new_start(broker, schema, request_of, version):
    broker.deletes.outcomes = {
        TopicPartition("orders", 0): Deleted(ErrorCode.NONE, 12),
        TopicPartition("orders", 2): Deleted(ErrorCode.OFFSET_OUT_OF_RANGE),
        TopicPartition("payments", 1): Deleted(ErrorCode.REQUEST_TIMED_OUT, 3),
    }
    s = schema(21, version)

    def topic(name, **offsets):
        partitions = tuple(
            s.DeleteRecordsPartition(partition_index=int(number[1:]), offset=offset)
            for number, offset in offsets.items()
        )
        return s.DeleteRecordsTopic(name=name, partitions=partitions)

    topics = (topic("orders", p0=12, p2=-1), topic("payments", p1=5))
    body = s.request(topics=topics, timeout=dt.timedelta(seconds=7))
    answer = await handle(broker.context, request_of(21, version, body))
    asked = {
        TopicPartition("orders", 0): 12,
        TopicPartition("orders", 2): -1,
        TopicPartition("payments", 1): 5,
    }
    assert broker.deletes.calls == [(asked, 7000)]
    told = [
        (topic.name, partition.partition_index, partition.low_watermark, partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]
    assert told == [
        ("orders", 0, 12, ErrorCode.NONE),
        ("orders", 2, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("payments", 1, 3, ErrorCode.REQUEST_TIMED_OUT),
    ]
