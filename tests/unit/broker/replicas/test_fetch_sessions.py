"""Streams: each request one answer, held until something ends the hold."""

from __future__ import annotations

import asyncio
import contextlib

import pytest

from barnabas.broker.replicas import fetch_sessions as sessions_module
from barnabas.broker.replicas.fetch_sessions import FetchSessions
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.rpc import replication_pb2 as pb

TP = TopicPartition("t", 0)


class Stream:
    """The follower's end of a stream, without a network."""

    def __init__(self, sessions):
        self._requests = asyncio.Queue()
        self._answers = sessions.serve(self._sent())

    async def _sent(self):
        while (request := await self._requests.get()) is not None:
            yield request

    def send(self, *partitions, replica_id=2, broker_epoch=-1, max_wait_ms=60_000):
        self._requests.put_nowait(
            pb.FetchRequest(
                replica_id=replica_id,
                broker_epoch=broker_epoch,
                max_wait_ms=max_wait_ms,
                min_bytes=1,
                max_bytes=1 << 20,
                partitions=partitions,
            )
        )

    def answer(self):
        return asyncio.ensure_future(anext(self._answers))

    async def end(self):
        self._requests.put_nowait(None)
        with contextlib.suppress(StopAsyncIteration):
            await anext(self._answers)


def named(offset=0, epoch=0):
    return pb.FetchPartition(
        topic="t", current_leader_epoch=epoch, fetch_offset=offset, last_fetched_epoch=-1, max_bytes=1 << 20
    )


@pytest.fixture
def sessions(room):
    return FetchSessions(room.hosted, room.metadata, lambda *_: None)


async def settled(task):
    """Let everything that can run, run."""
    for _ in range(20):
        await asyncio.sleep(0)
    return task.done()


async def test_an_answer_is_held_until_there_is_data(room, sessions):
    partition, stream = room.lead(), Stream(sessions)
    stream.send(named())
    answer = stream.answer()
    assert not await settled(answer)
    assert room.hosted.fetches.delayed == 1
    room.write(partition, b"a")
    room.hosted.grew(partition)
    assert (await answer).partitions[0].log_end_offset == 1
    assert room.hosted.fetches.delayed == 0
    await stream.end()


async def test_a_hold_ends_with_its_time_and_only_that_counts_as_expired(room):
    expired = []
    sessions = FetchSessions(room.hosted, room.metadata, lambda *_: None, lambda: expired.append(True))
    partition, stream = room.lead(), Stream(sessions)
    stream.send(named(), max_wait_ms=1)
    assert len((await stream.answer()).partitions) == 0
    await room.until(lambda: expired)
    room.write(partition, b"a")
    stream.send(named())
    assert len((await stream.answer()).partitions) == 1
    assert expired == [True]
    await stream.end()


async def test_the_next_request_ends_a_hold(room, sessions):
    room.lead()
    stream = Stream(sessions)
    stream.send(named())
    held = stream.answer()
    assert not await settled(held)
    stream.send(max_wait_ms=1)
    assert len((await held).partitions) == 0
    assert len((await stream.answer()).partitions) == 0
    await stream.end()


async def test_what_a_request_acknowledges_counts_before_it_is_answered(room, sessions):
    """An answer that is on its way keeps nobody waiting who waits for the high watermark."""
    partition, stream = room.lead(isr=(1, 2)), Stream(sessions)
    partition.replica.remote(3).caught_up_ms = -(10**9)
    room.write(partition, b"a")
    stream.send(named())
    assert (await stream.answer()).partitions[0].records
    stream.send(named(1))
    for _ in range(20):
        await asyncio.sleep(0)
    # Nobody has asked the stream for another answer.
    assert partition.replica.high_watermark == 1
    await stream.end()


async def test_a_fault_in_a_request_ends_its_stream(room, sessions, monkeypatch):
    room.lead()
    stream = Stream(sessions)
    monkeypatch.setattr(room.hosted, "led", None)
    stream.send(named())
    with pytest.raises(TypeError):
        await stream.answer()


async def test_the_stream_of_a_previous_incarnation_is_refused(room, sessions):
    room.know(TP)
    stream = Stream(sessions)
    stream.send(named(), broker_epoch=9)
    assert (await stream.answer()).error_code == ErrorCode.STALE_BROKER_EPOCH
    with pytest.raises(StopAsyncIteration):
        await stream.answer()


async def test_a_new_stream_takes_the_place_of_the_old_one(room, sessions):
    partition = room.lead()
    old, new = Stream(sessions), Stream(sessions)
    old.send(named())
    held = old.answer()
    assert not await settled(held)
    new.send(named())
    waiting = new.answer()
    assert not await settled(waiting)
    with pytest.raises(StopAsyncIteration):
        await held
    room.write(partition, b"a")
    room.hosted.grew(partition)
    assert (await waiting).partitions[0].records
    await new.end()
    assert partition.feeds == {}


async def test_a_stream_that_ends_leaves_nothing_behind(room, sessions):
    partition, stream = room.lead(), Stream(sessions)
    stream.send(named())
    held = stream.answer()
    assert not await settled(held)
    held.cancel()
    assert await settled(held)
    assert partition.feeds == {}


async def test_no_answer_holds_more_than_it_may_however_much_is_asked_for(room, sessions, monkeypatch):
    monkeypatch.setattr(sessions_module, "MOST_BYTES", 1)
    partition = room.lead(isr=(1, 2))
    for value in (b"a", b"b"):
        room.write(partition, value)
    stream = Stream(sessions)
    stream.send(named())
    answer = await stream.answer()
    assert answer.partitions[0].records == partition.log.read(0, 1, 2).records
    await stream.end()
