from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.server.by_topic import topic_answers
from barnabas.broker.wire.apis import APIS, ApiKey
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.ids import TopicPartition

PARTITIONS = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 3))


@given(st.lists(PARTITIONS))
async def test_each_topic_has_its_partitions_in_their_order(partitions):
    request = Request(APIS[ApiKey.DELETE_RECORDS], 2, 7, "c", "PLAINTEXT", None)
    found = await topic_answers(request, "DeleteRecordsTopicResult", partitions, lambda tp: tp.partition)
    topics = dict.fromkeys(tp.topic for tp in partitions)
    assert [(each.name, each.partitions) for each in found] == [
        (topic, tuple(tp.partition for tp in partitions if tp.topic == topic)) for topic in topics
    ]
