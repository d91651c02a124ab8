from __future__ import annotations

import pytest

from barnabas.broker.server.handlers.alter_replica_log_dirs import handle
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition


@pytest.mark.parametrize("version", range(3))
async def test_each_replica_has_its_answer_and_the_last_directory_counts(broker, schema, request_of, version):
    refused = {TopicPartition("t", 1): ErrorCode.REPLICA_NOT_AVAILABLE}
    asked = {}

    def alter(topic_partition, path):
        asked[topic_partition] = path
        return refused.get(topic_partition, ErrorCode.NONE)

    broker.log_dirs.alter = alter
    s = schema(34, version)

    def log_dir(path, **topics):
        named = (s.AlterReplicaLogDirTopic(name=name, partitions=numbers) for name, numbers in topics.items())
        return s.AlterReplicaLogDir(path=path, topics=tuple(named))

    body = s.request(dirs=(log_dir("/one", t=(0, 1)), log_dir("/two", u=(0,), t=(0,)), log_dir("/three")))
    answer = await handle(broker.context, request_of(34, version, body))
    assert asked == {
        TopicPartition("t", 0): "/two",
        TopicPartition("t", 1): "/one",
        TopicPartition("u", 0): "/two",
    }
    assert {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in answer.results
        for each in topic.partitions
    } == {
        ("t", 0): ErrorCode.NONE,
        ("t", 1): ErrorCode.REPLICA_NOT_AVAILABLE,
        ("u", 0): ErrorCode.NONE,
    }
