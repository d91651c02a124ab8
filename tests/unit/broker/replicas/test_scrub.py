"""Every segment of every hosted log has its turn."""

from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.core.log_config import LogConfig
from barnabas.broker.replicas.scrub import LogScrub
from barnabas.cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=100, segment_index_bytes=16 * 1024)


@pytest.fixture
def found():
    return []


@pytest.fixture
def scrub(room, found):
    return LogScrub(room.hosted, lambda *damage: found.append(damage))


def fill(room, topic_partition):
    partition = room.lead(isr=(1,), topic_partition=topic_partition)
    for _ in range(4):
        room.write(partition, b"value")
    return partition


def damage(partition, number):
    path = partition.log.spans()[number].path
    with path.open("r+b") as file:
        file.seek(65)
        file.write(b"\xff")
    return path


@pytest.mark.parametrize("number", range(4))
async def test_a_damaged_segment_is_reported_active_or_not(room, scrub, found, number):
    fill(room, TP)
    partition = fill(room, OTHER)
    path = damage(partition, number)
    await scrub.check_all()
    ((where, span, (damaged,)),) = found
    assert (where, span.path) == (partition, path)
    assert (damaged.first_offset, damaged.end_offset) == (number, number + 1)


async def test_it_begins_at_once_after_an_unclean_stop_and_waits_after_a_clean_one(room, scrub, found):
    damage(fill(room, TP), 0)
    waiting = asyncio.ensure_future(scrub.run(after_clean_stop=True))
    await asyncio.sleep(0)
    running = asyncio.ensure_future(scrub.run(after_clean_stop=False))
    await room.until(lambda: found)
    for task in (waiting, running):
        task.cancel()
    await asyncio.gather(waiting, running, return_exceptions=True)
    assert len(found) == 1


async def test_a_partition_that_is_removed_meanwhile_is_let_alone(room, scrub, found):
    partition = fill(room, TP)
    damage(partition, 0)
    spans = partition.log.spans()
    room.hosted.remove(TP, delete=True)
    assert await scrub.check(partition, spans[0]) == ()
    await scrub.check_all()
    assert found == []
    assert room.logs.offline == {}


async def test_a_disk_that_refuses_takes_its_directory_offline(room, scrub, monkeypatch):
    fill(room, TP)

    def fail(*_):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr("barnabas.broker.disk.scrub.open_to_read", fail)
    await scrub.check_all()
    assert room.hosted.get(TP) is None
    assert list(room.logs.offline) == [room.logs.live[0] if room.logs.live else next(iter(room.logs.offline))]
