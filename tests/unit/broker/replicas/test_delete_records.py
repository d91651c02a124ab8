"""Deletions of records at a leader: what is refused, and when the rest is answered."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.delete_records import HIGH_WATERMARK, RecordDeleter
from barnabas.broker.replicas.interface import Deleted
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
LONG_MS = 60_000


@pytest.fixture
def delete(room):
    deleter = RecordDeleter(room.hosted)
    return lambda offset, tp=TP, timeout_ms=LONG_MS: deleter.delete({tp: offset}, timeout_ms)


@pytest.fixture
def partition(room):
    """Led with six records, five of them committed; all three brokers are live and have fetched."""
    room.know(TP, OTHER)
    partition = room.lead()
    for value in (b"a", b"b", b"c", b"d", b"e", b"f"):
        room.write(partition, value)
    partition.replica.high_watermark = 5
    for follower in (2, 3):
        partition.replica.remote(follower).log_start_offset = 0
    return partition


def follower_starts(room, partition, broker_id, offset):
    partition.replica.follower_log_starts(broker_id, offset)
    room.hosted.deletes.check_and_complete(partition.topic_partition)


async def test_it_is_answered_once_every_follower_starts_there(room, partition, delete):
    answer = delete(3)
    assert partition.log.log_start_offset == 3
    follower_starts(room, partition, 2, 3)
    follower_starts(room, partition, 3, 2)
    assert not answer.done()
    assert room.hosted.deletes.delayed == 1
    follower_starts(room, partition, 3, 4)
    assert answer.result() == {TP: Deleted(ErrorCode.NONE, 3)}
    assert room.hosted.deletes.delayed == 0


async def test_all_that_is_committed(room, partition, delete):
    answer = delete(HIGH_WATERMARK)
    assert partition.log.log_start_offset == 5
    follower_starts(room, partition, 2, 5)
    follower_starts(room, partition, 3, 5)
    assert answer.result() == {TP: Deleted(ErrorCode.NONE, 5)}


async def test_what_is_gone_everywhere_is_answered_at_once(room, partition, delete):
    for follower in (2, 3):
        partition.replica.follower_log_starts(follower, 4)
    partition.log.raise_log_start(4)
    assert delete(2).result() == {TP: Deleted(ErrorCode.NONE, 4)}
    assert partition.log.log_start_offset == 4


async def test_dead_followers_are_not_waited_for(room, partition, delete):
    room.forget_brokers()
    assert delete(3).result() == {TP: Deleted(ErrorCode.NONE, 3)}


async def test_what_is_not_reached_in_time_times_out(room, partition, delete):
    follower_starts(room, partition, 3, 2)
    answer = delete(3, timeout_ms=1)
    assert await answer == {TP: Deleted(ErrorCode.REQUEST_TIMED_OUT, 0)}
    assert partition.log.log_start_offset == 3


async def test_a_leadership_lost_ends_the_wait(room, partition, delete):
    answer = delete(3)
    room.follow(epoch=1)
    assert answer.result() == {TP: Deleted(ErrorCode.NOT_LEADER_OR_FOLLOWER)}


@pytest.mark.parametrize("offset", [6, 7, -2])
async def test_an_offset_that_is_not_committed_is_out_of_range(partition, delete, offset):
    assert delete(offset).result() == {TP: Deleted(ErrorCode.OFFSET_OUT_OF_RANGE)}
    assert partition.log.log_start_offset == 0


async def test_what_is_not_led_here_is_refused(room, partition, delete):
    assert (
        delete(0, TopicPartition("v", 0)).result().popitem()[1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )
    assert delete(0, OTHER).result().popitem()[1].error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    internal = TopicPartition("__consumer_offsets", 0)
    assert delete(0, internal).result().popitem()[1].error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    room.lead(topic_partition=internal)
    assert delete(0, internal).result().popitem()[1].error is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_a_topic_that_is_compacted_alone_keeps_its_records(partition, delete):
    partition.log.config = LogConfig(cleanup_policy=frozenset({"compact"}))
    assert delete(1).result() == {TP: Deleted(ErrorCode.POLICY_VIOLATION)}


async def test_a_disk_failure_is_reported(room, partition, delete, monkeypatch, tmp_path):
    error = KafkaStorageError(tmp_path, "the test's")
    monkeypatch.setattr(partition.log, "raise_log_start", Mock(side_effect=error))
    assert delete(1).result() == {TP: Deleted(ErrorCode.KAFKA_STORAGE_ERROR)}
    assert TP in room.hosted.offline


async def test_consumers_and_followers_get_the_new_start(room, partition, delete):
    notified = []
    room.hosted.log_start_rose = notified.append
    delete(3)
    delete(3)
    assert notified == [partition]


async def test_an_answer_nobody_waits_for_any_more(room, partition, delete):
    answer = delete(3)
    answer.cancel()
    follower_starts(room, partition, 2, 3)
    follower_starts(room, partition, 3, 3)
    assert room.hosted.deletes.delayed == 0
