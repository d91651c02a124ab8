from __future__ import annotations

import pytest

from barnabas.broker.core.records.producer_state import CachedBatch, ProducerEntry
from barnabas.broker.server.handlers.describe_producers import SHORT_ANSWER, handle
from barnabas.broker.wire.frames import Request
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime import turn

BUSY = ProducerEntry(7, 2, (CachedBatch(4, 6, 10, 12, 99),), 99, 3, 10)
IDLE = ProducerEntry(8, 0)


@pytest.fixture
def ask(broker, schema, request_of):
    async def call(*topics):
        s = schema(61, 0)
        asked = tuple(s.TopicRequest(name=name, partition_indexes=numbers) for name, numbers in topics)
        return await handle(broker.context, request_of(61, 0, s.request(topics=asked)))

    return call


async def test_the_producers_of_each_partition_are_returned_once(broker, ask):
    broker.topic("orders", 1, 2)
    broker.reads.known_producers = {
        TopicPartition("orders", 0): (BUSY, IDLE),
        TopicPartition("orders", 1): ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
    (topic,) = (await ask(("orders", (0, 1, 0)), ("orders", (0,)))).topics
    first, second = topic.partitions
    assert (topic.name, first.partition_index, first.error_code) == ("orders", 0, ErrorCode.NONE)
    busy, idle = first.active_producers
    assert (busy.producer_id, busy.producer_epoch, busy.last_sequence) == (7, 2, 6)
    assert (busy.last_timestamp, busy.coordinator_epoch, busy.current_txn_start_offset) == (99, 3, 10)
    assert (idle.producer_id, idle.last_sequence, idle.current_txn_start_offset) == (8, -1, -1)
    assert (second.partition_index, second.error_code) == (1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert second.active_producers == ()


async def test_topics_that_are_not_there(ask):
    for topic in (await ask(("a b", (0,)), ("orders", (0,)))).topics:
        assert topic.partitions[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_many_partitions_are_not_answered_in_one_turn(broker, schema, request_of, turns, monkeypatch):
    """100,000 partitions without producers took 500 ms."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    s = schema(61, 0)
    count = 2 * SHORT_ANSWER
    body = s.request(topics=(s.TopicRequest(name="orders", partition_indexes=tuple(range(count))),))
    turns.count(monkeypatch, Request, "answer")
    (topic,) = (await handle(broker.context, request_of(61, 0, body))).topics
    assert len(topic.partitions) == count
    assert turns.most_in_a_turn() < 5
