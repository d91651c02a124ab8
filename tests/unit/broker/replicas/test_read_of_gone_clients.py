"""Long polls of many partitions, and of clients that have gone."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest

from barnabas.broker.replicas import turn
from barnabas.broker.replicas.interface import FetchPartition
from barnabas.broker.replicas.read import Reader
from barnabas.cluster.model.ids import TopicPartition

TP = TopicPartition("t", 0)


@pytest.mark.parametrize("is_of_many", [False, True])
async def test_a_fetch_whose_client_has_gone_does_not_wait_for_days(room, is_of_many):
    """Its client had asked for 24 days; Kafka keeps such an operation all that time."""
    room.lead()
    reader, wanted = Reader(room.hosted), {TP: FetchPartition(0, 1_000)}
    for _ in range(5_000):
        if is_of_many:
            answer = asyncio.ensure_future(reader.wait(wanted, max_wait_ms=2**31 - 1, min_bytes=1))
            await asyncio.sleep(0)
        else:
            answer = reader.fetch(wanted, max_wait_ms=2**31 - 1, min_bytes=1, max_bytes=1_000)
        assert not answer.done()
        answer.cancel()
        await asyncio.wait([answer])
    await asyncio.sleep(0)
    assert room.hosted.fetches.delayed == 0
    assert room.hosted.fetches.watched < 2_000


async def test_many_partitions_are_not_looked_up_in_one_turn(room, monkeypatch):
    """100,000 partitions that nobody knows took 74 ms of CPU time."""
    monkeypatch.setattr(turn, "TURN_S", 0.0)
    loop, passes, looked_up = asyncio.get_running_loop(), 0, Counter()

    def count():
        nonlocal passes
        passes += 1
        loop.call_soon(count)

    known = room.hosted.absence
    monkeypatch.setattr(room.hosted, "absence", lambda tp: looked_up.update([passes]) or known(tp))
    count()
    wanted = {TopicPartition("nobody's", number): FetchPartition(0, 1_000) for number in range(100)}
    await Reader(room.hosted).wait(wanted, max_wait_ms=60_000, min_bytes=1)
    assert sum(looked_up.values()) == 100
    assert max(looked_up.values()) < 10


async def test_who_does_not_wait_reads_at_once(room):
    partition = room.lead()
    await Reader(room.hosted).wait({TP: FetchPartition(0, 1_000)}, max_wait_ms=0, min_bytes=1)
    assert partition.replica.high_watermark == 0
