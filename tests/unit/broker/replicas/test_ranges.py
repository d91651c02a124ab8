from __future__ import annotations

from unittest.mock import Mock

import pytest

from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.disk.segment.scrub import DamagedRange
from barnabas.broker.replicas import ranges
from barnabas.broker.replicas.ranges import RangeReader
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

TP = TopicPartition("t", 0)


def ask(room, offset=0, epoch=0, topic="t"):
    request = pb.ReadRangeRequest(
        topic=topic, partition=0, current_leader_epoch=epoch, offset=offset, max_bytes=1000
    )
    answer = RangeReader(room.hosted).read(request)
    return ErrorCode.from_code(answer.error_code), answer.records


@pytest.fixture
def partition(room):
    made = room.lead(isr=(1, 2))
    for value in (b"a", b"b", b"c"):
        room.write(made, value)
    made.replica.high_watermark = 2
    return made


def test_what_is_committed_is_read_at_leader_and_follower(room, partition):
    both = partition.log.read(0, 1000, 2).records
    assert ask(room) == (ErrorCode.NONE, both)
    room.follow(epoch=1)
    assert ask(room, epoch=1) == (ErrorCode.NONE, both)
    assert ask(room, 2, epoch=1) == (ErrorCode.NONE, b"")


def test_an_answer_says_where_the_gaps_of_the_log_end(room, partition):
    partition.log.compaction.note_gaps(2)
    request = pb.ReadRangeRequest(topic="t", partition=0, current_leader_epoch=0, offset=0, max_bytes=1000)
    assert RangeReader(room.hosted).read(request).gaps_end == 2


def test_no_more_is_read_at_once_than_one_answer_may_hold(room, partition, monkeypatch):
    monkeypatch.setattr(ranges, "MOST_BYTES", 1)
    assert ask(room) == (ErrorCode.NONE, partition.log.read(0, 1, 2).records)


def test_another_leader_epoch_may_have_other_records(room, partition):
    room.lead(epoch=3, isr=(1, 2))
    assert ask(room, epoch=2) == (ErrorCode.FENCED_LEADER_EPOCH, b"")
    assert ask(room, epoch=4) == (ErrorCode.UNKNOWN_LEADER_EPOCH, b"")


def test_who_has_it_not_says_so(room, partition, monkeypatch):
    assert ask(room, topic="u")[0] is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert ask(room, 9)[0] is ErrorCode.OFFSET_OUT_OF_RANGE
    met = []
    room.hosted.on_corrupt = lambda *found: met.append(found)
    (span,) = partition.log.spans()
    partition.log.note_damage(span, [DamagedRange(0, 10, 0, 1)])
    assert ask(room)[0] is ErrorCode.CORRUPT_MESSAGE
    assert met[0][0] is partition
    monkeypatch.setattr(partition.log, "read", Mock(side_effect=KafkaStorageError(room.logs.live[0], "test")))
    assert ask(room)[0] is ErrorCode.KAFKA_STORAGE_ERROR
    assert room.hosted.get(TP) is None
