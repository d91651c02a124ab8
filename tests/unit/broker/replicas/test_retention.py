"""Old segments go, at leaders and followers, as far as is known to be committed."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import KafkaStorageError
from barnabas.broker.replicas.retention import LogRetention
from barnabas.cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=100, segment_index_bytes=16 * 1024, retention_bytes=0)


@pytest.fixture
def retention(room):
    return LogRetention(room.hosted)


def fill(room, partition, batches=4):
    for _ in range(batches):
        room.write(partition, b"value")


async def test_a_leader_deletes_what_is_committed(room, retention):
    partition = room.lead(isr=(1, 2))
    fill(room, partition)
    notified = []
    partition.feeds[2] = type("Feed", (), {"log_start_rose": notified.append})
    await retention.delete_old_segments()
    assert partition.log.log_start_offset == 0
    assert notified == []
    partition.replica.high_watermark = 3
    await retention.delete_old_segments()
    assert partition.log.log_start_offset == 3
    assert notified == [TP]


async def test_a_follower_deletes_what_it_knows_to_be_committed(room, retention):
    leader = room.lead(isr=(1,))
    fill(room, leader)
    records = leader.log.read(0, 60, 4).records
    follower = room.follow(topic_partition=OTHER)
    follower.log.append_as_follower(records)
    follower.replica.high_watermark = 1
    await retention.delete_old_segments()
    assert (follower.log.log_start_offset, follower.log.log_end_offset) == (1, 1)


async def test_a_disk_that_fails_takes_its_directory_offline(room, retention, monkeypatch):
    partition = room.lead(isr=(1,))
    monkeypatch.setattr(
        partition.log,
        "delete_old_segments",
        Mock(side_effect=KafkaStorageError(room.logs.live[0], "renaming")),
    )
    await retention.delete_old_segments()
    assert list(room.hosted.offline) == [TP]


async def test_partitions_that_have_gone_meanwhile_are_left_alone(room, retention, monkeypatch):
    first, second = room.lead(isr=(1,)), room.lead(isr=(1,), topic_partition=OTHER)
    monkeypatch.setattr(
        first.log, "delete_old_segments", lambda _: room.hosted.remove(OTHER, delete=True) or ()
    )
    monkeypatch.setattr(second.log, "delete_old_segments", lambda _: pytest.fail("it is closed"))
    await retention.delete_old_segments()


async def test_it_is_looked_at_again_and_again(room, retention, monkeypatch):
    looked = asyncio.Semaphore(0)

    async def look():
        looked.release()

    monkeypatch.setattr(retention, "delete_old_segments", look)
    task = asyncio.create_task(retention.keep(1))
    async with asyncio.timeout(60):
        for _ in range(3):
            await looked.acquire()
    task.cancel()
