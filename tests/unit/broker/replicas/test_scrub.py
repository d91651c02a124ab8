"""Every segment of every hosted log has its turn."""

from __future__ import annotations

import asyncio
from unittest.mock import Mock

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.replicas import scrub as scrub_module
from barnabas.broker.replicas.scrub import LEAST_PAUSE_S, LogScrub, pause_s
from barnabas.cluster.model.ids import TopicPartition

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=100, segment_index_bytes=16 * 1024)


@pytest.fixture
def found():
    return []


@pytest.fixture
def scrub(room, found, monkeypatch):
    monkeypatch.setattr(scrub_module, "LEAST_PAUSE_S", 0.0)
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


class Slept(Exception):
    pass


@pytest.mark.parametrize(("after_clean_stop", "first"), [(True, 30.0), (False, "a check")])
async def test_it_begins_at_once_after_an_unclean_stop_and_waits_after_a_clean_one(
    scrub, monkeypatch, after_clean_stop, first
):
    done = []

    async def check_all():
        done.append("a check")

    async def sleep(seconds):
        done.append(seconds)
        raise Slept

    monkeypatch.setattr(scrub, "check_all", check_all)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    with pytest.raises(Slept):
        await scrub.run(after_clean_stop=after_clean_stop)
    assert done[0] == first


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
    monkeypatch.setattr(
        "barnabas.broker.disk.segment.scrub.open_to_read", Mock(side_effect=OSError(5, "Input/output error"))
    )
    await scrub.check_all()
    assert room.hosted.get(TP) is None
    assert list(room.logs.offline) == [room.logs.live[0] if room.logs.live else next(iter(room.logs.offline))]


@pytest.mark.parametrize(
    ("size", "took_s", "pause"),
    [
        (1 << 20, 0.01, 0.99),  # the rate of the settings
        (1 << 20, 0.5, 2.0),  # small batches: a fifth of the time
        (2_000, 0.0001, LEAST_PAUSE_S),  # one of many small logs
        (0, 0.0, LEAST_PAUSE_S),
    ],
)
def test_a_pause_keeps_the_rate_spares_the_cpu_and_is_never_none(size, took_s, pause):
    assert pause_s(size, took_s, 1 << 20) == pytest.approx(pause)


async def test_an_empty_log_costs_no_pause_and_no_thread(room, scrub, monkeypatch):
    """5,000 empty logs took 60 % of the event loop, one after the other on the directory's thread."""
    partition = room.lead(isr=(1,))
    monkeypatch.setattr(partition.log, "on_disk_thread", lambda _: pytest.fail("there is nothing to check"))
    await scrub.check_all()


async def test_a_segment_in_one_piece_is_asked_for_once(room, scrub, monkeypatch):
    partition = fill(room, TP)
    asked, real = [], partition.log.on_disk_thread
    monkeypatch.setattr(partition.log, "on_disk_thread", lambda work: asked.append(1) or real(work))
    await scrub.check_all()
    assert len(asked) == len(partition.log.spans())
