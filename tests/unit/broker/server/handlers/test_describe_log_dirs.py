from __future__ import annotations

import pytest

from barnabas.broker.replicas.interface import DescribedLog, DescribedLogDir
from barnabas.broker.server.handlers.describe_log_dirs import handle
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


@pytest.fixture
def describe(broker, schema, request_of):
    broker.log_dirs.described = [
        DescribedLogDir(
            "/d1", ErrorCode.NONE, (DescribedLog(T0, 85, 2), DescribedLog(U0, 7, 0), DescribedLog(T1, 9, -1))
        ),
        DescribedLogDir("/d2", ErrorCode.NONE, (DescribedLog(T0, 5, 80, is_future=True),)),
        DescribedLogDir("/d3", ErrorCode.KAFKA_STORAGE_ERROR),
    ]

    async def build(version, topics):
        s = schema(35, version)
        asked = topics and tuple(
            s.DescribableLogDirTopic(topic=name, partitions=numbers) for name, numbers in topics.items()
        )
        answer = await handle(broker.context, request_of(35, version, s.request(topics=asked)))
        return [
            (
                each.log_dir,
                each.error_code,
                {
                    topic.name: [
                        (p.partition_index, p.partition_size, p.offset_lag, p.is_future_key)
                        for p in topic.partitions
                    ]
                    for topic in each.topics
                },
            )
            for each in answer.results
        ]

    return build


@pytest.mark.parametrize("version", range(3))
async def test_every_directory_is_described(describe, version):
    assert await describe(version, None) == [
        ("/d1", ErrorCode.NONE, {"t": [(0, 85, 2, False), (1, 9, -1, False)], "u": [(0, 7, 0, False)]}),
        ("/d2", ErrorCode.NONE, {"t": [(0, 5, 80, True)]}),
        ("/d3", ErrorCode.KAFKA_STORAGE_ERROR, {}),
    ]


async def test_topics_that_were_not_requested_are_returned_by_name_only(describe):
    first, second, _ = await describe(2, {"t": (1, 5)})
    assert first[2] == {"t": [(1, 9, -1, False)], "u": []}
    assert second[2] == {"t": []}


async def test_no_topic_may_be_asked_for(describe):
    assert [topics for _, _, topics in await describe(2, {})] == [{"t": [], "u": []}, {"t": []}, {}]
