"""A replica that moves between two log directories while it serves."""

from __future__ import annotations

import asyncio
import contextlib
import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from barnabas.broker.core.quotas.replication_quota import ReplicationQuota
from barnabas.broker.core.records.batch_validation import AppendOrigin
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.directory.log_dirs import LogDirs, LogDirsOptions
from barnabas.broker.disk.names import MAX_NAME_LENGTH
from barnabas.broker.disk.segment.file_records import FileRecords
from barnabas.broker.replicas.log_dir_admin import LogDirectories
from barnabas.broker.replicas.log_dir_mover import PART_BYTES, LogDirMover
from barnabas.cluster.model.epochs import LeaderEpoch
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.batches import keyed_batch
from tests.unit.broker.replicas.conftest import TP, Room

CONFIG = LogConfig(segment_bytes=64 * 1024, segment_index_bytes=4096)


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)


class Moving:
    """Broker 1 with two log directories, and its mover."""

    def __init__(self, paths, executors, config):
        self.paths = paths
        options = LogDirsOptions(1, "A" * 22, lambda _topic: config, executors.__getitem__, lambda: 0)
        self.logs = LogDirs.open(paths, options)
        self.room = Room(self.logs)
        self.hosted = self.room.hosted
        self.mover = LogDirMover(self.hosted, self.logs, 2)
        self.hosted.on_hosted = self.mover.wake
        self.admin = LogDirectories(self.hosted, self.logs, self.mover.wake)
        self.supervisor = Supervisor(lambda *_: None)

    def start(self):
        self.mover.start(self.supervisor)

    def to(self, path, topic_partition=TP):
        return self.admin.alter(topic_partition, str(path))

    async def moved(self, path, topic_partition=TP):
        log_dir = lambda: self.logs.get(topic_partition).directory.parent  # noqa: E731
        await self.room.until(lambda: log_dir() == path and not self.logs.futures.all)


@pytest.fixture
async def moving(tmp_path):
    paths = [tmp_path / "one", tmp_path / "two"]
    with contextlib.ExitStack() as stack:
        executors = {path: stack.enter_context(ThreadPoolExecutor(1)) for path in paths}
        moving = Moving(paths, executors, CONFIG)
        yield moving
        await moving.supervisor.close(5)
        await moving.mover.close()
        for path in moving.logs.live:
            moving.logs.fail(path, "the test is over")


def everything(log):
    read, offset = b"", log.log_start_offset
    while offset < log.log_end_offset:
        found = log.read(offset, 1 << 20, log.log_end_offset)
        read, offset = read + found.records, found.next_offset
    return read


async def test_a_replica_moves_while_it_is_written(moving):
    partition = moving.room.lead()
    for number in range(100):
        moving.room.write(partition, b"%d" % number * 2000)
    former = partition.log
    assert former.size > 2 * PART_BYTES
    moving.start()
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    future, written = moving.logs.futures.get(TP), 100
    while partition.log is former and written < 150:  # a writer that never pauses may stay ahead of the copy
        copied = future.log_end_offset
        moving.room.write(partition, b"%d" % written * 2000)
        written += 1
        await moving.room.until(lambda: partition.log is not former or future.log_end_offset > copied)  # noqa: B023
    await moving.moved(moving.paths[1])
    assert partition.log is moving.logs.get(TP)
    assert partition.log.directory == moving.paths[1] / "t-0"
    moving.room.write(partition, b"last")
    assert partition.log.log_end_offset == written + 1
    values = everything(partition.log)
    assert all(b"%d" % number * 2000 in values for number in range(written))
    await moving.room.until(lambda: not moving.logs.futures.all)


async def test_a_replica_moves_there_and_back_again(moving):
    partition = moving.room.lead()
    moving.room.write(partition, b"a", b"b")
    moving.start()
    for path in (moving.paths[1], moving.paths[0], moving.paths[1]):
        read = everything(partition.log)
        assert moving.to(path) is ErrorCode.NONE
        await moving.moved(path)
        assert everything(partition.log) == read
        moving.room.write(partition, b"c")


async def test_another_directory_or_the_first_one_cancels_a_move(moving):
    partition = moving.room.lead()
    moving.room.write(partition, b"a")
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    future = moving.logs.futures.get(TP)
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    assert moving.logs.futures.get(TP) is future
    assert moving.to(moving.paths[0]) is ErrorCode.NONE
    assert moving.logs.futures.get(TP) is None
    moving.start()
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    await moving.moved(moving.paths[1])


async def test_a_move_follows_truncation_deletion_and_a_new_leader(moving):
    moving.hosted.throttles.log_dirs.limit = 0
    partition = moving.room.lead(0)
    for number in range(10):
        moving.room.write(partition, b"%d" % number * 2000)
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    future = moving.logs.futures.get(TP)
    future.append_as_follower(everything(partition.log))
    partition.log.truncate_to(Offset(7))
    moving.room.lead(3)
    moving.room.write(partition, b"x" * 2000)
    partition.log.raise_log_start(Offset(2))
    moving.room.lead(4)  # it appends nothing
    moving.hosted.throttles.log_dirs.limit = None
    moving.start()
    read, epochs = everything(partition.log), [partition.log.end_offset_for(LeaderEpoch(e)) for e in range(6)]
    await moving.moved(moving.paths[1])
    assert everything(partition.log) == read
    assert [partition.log.end_offset_for(LeaderEpoch(e)) for e in range(6)] == epochs
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (2, 8)


async def test_a_truncation_that_closes_what_a_move_reads_fails_no_disk(moving, monkeypatch):
    partition, real, cuts = moving.room.lead(), FileRecords.__bytes__, []
    for number in range(40):
        moving.room.write(partition, b"%d" % number * 2000)
    partition.log.flush()

    def read(records):
        if not cuts:
            cuts.append(partition.log.segment_count)
            partition.log.truncate_fully_and_start_at(Offset(3))
        return real(records)

    monkeypatch.setattr(FileRecords, "__bytes__", read)
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    await moving.moved(moving.paths[1])
    assert cuts
    assert (partition.log.log_start_offset, moving.logs.offline) == (3, {})


async def test_a_log_that_begins_later_is_copied_from_there(moving):
    partition = moving.room.follow()
    partition.log.truncate_fully_and_start_at(Offset(100))
    partition.log.append_as_follower(keyed_batch([(b"k", b"v")], base_offset=100))
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    await moving.moved(moving.paths[1])
    assert (partition.log.log_start_offset, partition.log.log_end_offset) == (100, 101)


async def test_gaps_that_compaction_has_left_are_copied_whatever_the_settings_say_today(moving):
    partition = moving.room.follow()
    for base_offset in (0, 7, 20):
        batch = keyed_batch([(b"k", b"v")], base_offset=base_offset)
        partition.log.append_as_follower(batch, Offset(20))
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    read = everything(partition.log)
    await moving.moved(moving.paths[1])
    assert everything(partition.log) == read
    assert partition.log.compaction.gaps_end == 20


async def test_idempotent_producers_go_on_after_a_move(moving):
    partition = moving.room.lead()
    log, batch = partition.log, moving.room.batch
    first, second = (batch(b"v", producer=(7, 0, sequence)) for sequence in (0, 1))
    assert log.append_as_leader(first, LeaderEpoch(0), AppendOrigin.CLIENT).first_offset == 0
    moving.start()
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    await moving.moved(moving.paths[1])
    assert partition.log.append_as_leader(first, LeaderEpoch(0)).duplicate
    assert partition.log.append_as_leader(second, LeaderEpoch(0)).first_offset == 1


class AtOnce(ReplicationQuota):
    """A quota whose pauses are short."""

    def wait_ms(self, now_ms):
        return 0


async def test_a_throttled_move_waits(moving):
    quota = moving.hosted.throttles.log_dirs = AtOnce(1.0)
    partition = moving.room.lead()
    for number in range(100):
        moving.room.write(partition, b"%d" % number * 2000)
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    future = moving.logs.futures.get(TP)
    await moving.room.until(lambda: future.log_end_offset > 0)
    for _ in range(50):
        await asyncio.sleep(0)
    assert 0 < future.log_end_offset < partition.log.log_end_offset
    assert moving.mover.max_lag == partition.log.log_end_offset - future.log_end_offset
    shown = {each.path: each.logs for each in moving.admin.describe()}[str(moving.paths[1])]
    assert [(each.is_future, each.size, each.offset_lag) for each in shown] == [
        (True, future.size, moving.mover.max_lag)
    ]
    quota.limit = None
    await moving.moved(moving.paths[1])


async def test_a_move_that_a_start_finds_goes_on_once_the_replica_is_hosted(moving):
    partition = moving.room.lead()
    moving.room.write(partition, b"a")
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.hosted.remove(TP, delete=False)
    moving.start()
    for _ in range(20):
        await asyncio.sleep(0)
    assert moving.logs.futures.get(TP).log_end_offset == 0
    moving.room.lead()
    await moving.moved(moving.paths[1])


async def test_a_deleted_replica_moves_no_more(moving):
    partition = moving.room.lead()
    for number in range(100):
        moving.room.write(partition, b"%d" % number * 2000)
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    future = moving.logs.futures.get(TP)
    await moving.room.until(lambda: future.log_end_offset > 0)
    moving.hosted.remove(TP, delete=True)
    await moving.room.until(lambda: not moving.mover._moving)
    assert (moving.logs.get(TP), moving.logs.futures.all, dict(moving.logs.offline)) == (None, {}, {})


async def test_a_damaged_log_waits_for_its_repair(moving):
    found = []
    partition = moving.room.lead()
    moving.room.write(partition, b"a" * 100)
    moving.hosted.on_corrupt = lambda *each: found.append(each)
    path = next(partition.log.directory.glob("*.log"))
    sound = path.read_bytes()
    path.write_bytes(bytes(len(sound)))
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.start()
    await moving.room.until(lambda: len(found) > 1)
    assert partition.log.directory.parent == moving.paths[0]
    path.write_bytes(sound)
    await moving.moved(moving.paths[1])


async def test_a_target_that_fails_ends_the_move_and_nothing_else(moving):
    moving.hosted.throttles.log_dirs.limit = 0
    partition = moving.room.lead()
    moving.room.write(partition, b"a")
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.logs.fail(moving.paths[1], "pulled out")
    moving.hosted.throttles.log_dirs.limit = None
    moving.start()
    assert moving.to(moving.paths[1]) is ErrorCode.KAFKA_STORAGE_ERROR
    assert moving.to(moving.paths[0]) is ErrorCode.NONE
    assert moving.hosted.get(TP) is partition
    moving.room.write(partition, b"b")


async def test_a_source_that_fails_takes_the_replica_offline(moving):
    partition = moving.room.lead()
    moving.room.write(partition, b"a")
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    moving.logs.fail(moving.paths[0], "pulled out")
    moving.start()
    await moving.room.until(lambda: moving.hosted.get(TP) is None)
    assert list(moving.hosted.offline) == [TP]
    assert moving.to(moving.paths[1]) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_requests_that_cannot_be_carried_out(moving):
    unknown = TopicPartition("u", 0)
    assert moving.to("/nowhere") is ErrorCode.LOG_DIR_NOT_FOUND
    assert moving.to(moving.paths[1], unknown) is ErrorCode.REPLICA_NOT_AVAILABLE
    assert moving.hosted.host(unknown).log.directory.parent == moving.paths[1]
    long = TopicPartition("u" * (MAX_NAME_LENGTH - 10), 0)
    assert moving.to(moving.paths[1], long) is ErrorCode.INVALID_TOPIC_EXCEPTION


async def test_settings_that_change_reach_the_future_log(moving):
    moving.hosted.throttles.log_dirs.limit = 0
    partition = moving.room.lead()
    moving.room.write(partition, b"a")
    assert moving.to(moving.paths[1]) is ErrorCode.NONE
    partition.log.config = replace(CONFIG, cleanup_policy=("compact",))
    moving.start()
    moving.hosted.throttles.log_dirs.limit = None
    await moving.moved(moving.paths[1])
    assert partition.log.config.is_compacted
