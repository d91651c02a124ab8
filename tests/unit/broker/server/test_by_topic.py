from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.server.by_topic import by_topic
from barnabas.cluster.model.ids import TopicPartition

PARTITIONS = st.builds(TopicPartition, st.sampled_from("abc"), st.integers(0, 3))


@given(st.lists(PARTITIONS))
async def test_each_topic_has_its_partitions_in_their_order(partitions):
    found = await by_topic(partitions)
    assert list(found) == list(dict.fromkeys(tp.topic for tp in partitions))
    for topic, of_topic in found.items():
        assert of_topic == [tp for tp in partitions if tp.topic == topic]
