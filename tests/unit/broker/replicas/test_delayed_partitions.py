from __future__ import annotations

import asyncio

import pytest

from barnabas.broker.replicas.delayed_partitions import DelayedPartitions
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition

A, B, GONE = TopicPartition("t", 0), TopicPartition("u", 0), TopicPartition("gone", 0)


class Waiting(DelayedPartitions[str]):
    """Waits for the ends of logs."""

    asked = 0
    expired: tuple[TopicPartition, ...] = ()

    def reached(self, partition, offset, so_far, /):
        self.asked += 1
        return f"{so_far}, reached" if partition.log.log_end_offset >= offset else None

    def failed(self, error, so_far, /):
        return f"{so_far}, {error.name}"

    def timed_out(self, so_far):
        return f"{so_far}, too late"

    def on_expiration(self):
        self.expired = tuple(self.waiting)


@pytest.fixture
async def answer():
    return asyncio.get_running_loop().create_future()


@pytest.fixture
def led(room):
    return {each: room.lead(topic_partition=each) for each in (A, B)}


def waiting(room, answer, offsets):
    return Waiting(room.hosted, dict.fromkeys(offsets, "written"), dict(offsets), answer)


async def test_it_waits_for_the_last_and_asks_no_decided_one_again(room, led, answer):
    operation = waiting(room, answer, {A: 1, B: 1})
    assert not operation.try_complete()
    room.write(led[A], b"x")
    assert not operation.try_complete()
    assert list(operation.waiting) == [B]
    asked = operation.asked
    room.write(led[B], b"x")
    assert operation.try_complete()
    assert operation.asked == asked + 1
    assert answer.result() == {A: "written, reached", B: "written, reached"}


async def test_what_is_not_led_here_any_more_is_decided(room, led, answer):
    operation = waiting(room, answer, {A: 1, B: 0, GONE: 0})
    assert not operation.try_complete()
    room.follow(epoch=1, topic_partition=A)
    assert operation.try_complete()
    assert answer.result() == {
        A: f"written, {ErrorCode.NOT_LEADER_OR_FOLLOWER.name}",
        B: "written, reached",
        GONE: f"written, {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION.name}",
    }


@pytest.mark.usefixtures("led")
async def test_what_is_not_decided_in_time_times_out(room, answer):
    operation = waiting(room, answer, {A: 1, B: 0})
    room.hosted.produces.try_complete_else_watch(operation, (A, B), 0)
    assert await answer == {A: "written, too late", B: "written, reached"}
    assert operation.expired == (A,)


async def test_results_that_never_waited_come_along(room, led, answer):
    results = {GONE: "refused", A: "written"}
    assert Waiting(room.hosted, results, {A: 0}, answer).try_complete()
    assert answer.result() == {GONE: "refused", A: "written, reached"}


async def test_an_answer_that_nobody_waits_for_is_not_given(room, led, answer):
    operation = waiting(room, answer, {A: 0})
    answer.cancel()
    assert operation.try_complete()
