"""When a LeaderAndIsr request is answered: not before a power cut can no longer remove its new logs."""

from __future__ import annotations

import asyncio
import errno
import threading
from unittest.mock import Mock

import pytest

from barnabas.broker.disk.log import flushing
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.model.statechange import Kind

TP = TopicPartition("t", 0)


@pytest.fixture
def flushed(room, monkeypatch):
    """The directories whose names were flushed since the start; the room's own was before."""
    room.logs.begin_sync_of_names()[0].result()
    paths = []
    monkeypatch.setattr(flushing, "sync_directory", paths.append)
    return paths


async def test_names_of_new_logs_are_flushed_once_before_the_answer(room, scene, flushed, tmp_path):
    """After the answer the controller takes the logs for existing, so a power cut must not remove them."""
    many = [TopicPartition("many", number) for number in range(4)]
    await scene.order(*(room.order(1 + tp.partition % 2, topic_partition=tp) for tp in many))
    assert flushed == [tmp_path]
    await scene.order(*(room.order(1, 1, topic_partition=tp) for tp in many))
    assert flushed == [tmp_path], "no log is new"


async def test_an_answer_waits_for_the_names_that_another_request_created(room, scene, flushed, monkeypatch):
    """A new controller repeats the request, and must not believe in a log before its name is flushed."""
    begun, may_end = threading.Event(), threading.Event()

    def sync(path):
        begun.set()
        may_end.wait(60)
        flushed.append(path)

    monkeypatch.setattr(flushing, "sync_directory", sync)
    first = asyncio.ensure_future(scene.order(room.order(1)))
    await asyncio.to_thread(begun.wait, 60)
    second = asyncio.ensure_future(scene.order(room.order(1), controller_epoch=2))
    await scene.update(controller_epoch=2)
    await room.until(lambda: scene.kinds.count(Kind.LEADER_AND_ISR_FINISHED) == 2)
    assert not first.done()
    assert not second.done()
    may_end.set()
    assert (await first).partition_errors == {TP: ErrorCode.NONE}
    assert (await second).partition_errors == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}
    assert len(flushed) == 1


async def test_names_that_the_disk_refuses_to_flush_take_the_directory_offline(room, scene, monkeypatch):
    monkeypatch.setattr(
        flushing, "sync_directory", Mock(side_effect=OSError(errno.EIO, "Input/output error"))
    )
    answer = await scene.order(room.order(1))
    assert answer.partition_errors == {TP: ErrorCode.KAFKA_STORAGE_ERROR}
    assert TP in room.hosted.offline


async def test_names_that_lacked_a_descriptor_are_flushed_when_the_request_is_repeated(
    room, scene, flushed, monkeypatch, tmp_path
):
    answers = [OSError(errno.EMFILE, "Too many open files")]

    def sync(path):
        if answers:
            raise answers.pop()
        flushed.append(path)

    monkeypatch.setattr(flushing, "sync_directory", sync)
    answer = await scene.order(room.order(1))
    assert answer.partition_errors == {TP: ErrorCode.UNKNOWN_SERVER_ERROR}
    assert room.hosted.get(TP).replica.is_leader
    answer = await scene.order(room.order(1))
    assert answer.partition_errors == {TP: ErrorCode.STALE_CONTROLLER_EPOCH}, "which confirms the replica"
    assert flushed == [tmp_path]
