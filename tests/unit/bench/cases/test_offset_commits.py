import asyncio

import pytest
from kio.schema.offset_commit.v7.response import OffsetCommitResponse
from kio.serial import entity_reader

from barnabas.bench.cases.offset_commits import Consumer, RefusedCommitError, answer_of, request_of


class Wire(asyncio.WriteTransport):
    def __init__(self):
        super().__init__()
        self.written = []

    def write(self, data):
        self.written.append(data)


def test_the_expected_answer_is_one_without_errors():
    answer, _ = entity_reader(OffsetCommitResponse)(answer_of(2)[4:], 4)
    assert [each.error_code.name for topic in answer.topics for each in topic.partitions] == ["none", "none"]


async def test_a_consumer_commits_again_once_the_answer_is_whole():
    consumer, wire = Consumer("g", 3), Wire()
    consumer.connection_made(wire)
    consumer.data_received(answer_of(3)[:10])
    assert (wire.written, consumer.acknowledged) == ([request_of("g", 3)], 0)
    consumer.data_received(answer_of(3)[10:])
    assert (len(wire.written), consumer.acknowledged) == (2, 1)
    consumer.stop()
    consumer.data_received(answer_of(3))
    await consumer.ended
    assert len(wire.written) == 2


async def test_a_refused_commit_ends_the_bench():
    consumer = Consumer("g", 1)
    consumer.connection_made(Wire())
    consumer.data_received(answer_of(1)[:-1] + b"\x10")
    with pytest.raises(RefusedCommitError):
        await consumer.ended
