"""The log cleaner beside traffic: which log it takes, what it makes of it, and what ends a cleaning."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import io
import os
import pickle
import signal
import socket
import threading
from dataclasses import replace
from pathlib import Path
from unittest.mock import AsyncMock, Mock

import pytest
from structlog.testing import capture_logs

from barnabas.broker.cleaning import log_cleaner, rewrite, worker
from barnabas.broker.cleaning import process as cleaner_process
from barnabas.broker.cleaning.core.choice import log_to_clean
from barnabas.broker.cleaning.job import facts_of, plan
from barnabas.broker.cleaning.log_cleaner import LogCleaner
from barnabas.broker.cleaning.metrics import CleanerMetrics
from barnabas.broker.cleaning.process import CleanerProcess
from barnabas.broker.cleaning.rewrite import NewSegment
from barnabas.broker.cleaning.worker import CleanerUnavailableError
from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.log import compaction, log_files
from barnabas.broker.disk.segment.segment import LogSegment
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.supervisor import Supervisor
from tests.batches import keyed_batch
from tests.compaction import SETTINGS, Inline, values
from tests.unit.broker.replicas import conftest as replicas

TP, OTHER = TopicPartition("t", 0), TopicPartition("u", 0)
room = replicas.room


@pytest.fixture
def log_config():
    return LogConfig(segment_bytes=1000, segment_index_bytes=16 * 1024, cleanup_policy=frozenset({"compact"}))


@pytest.fixture
def cleaner(room):
    return LogCleaner(room.hosted, lambda: SETTINGS, Inline)


def fill(partition, count=60):
    for index in range(count):
        records = [(b"k%d" % (index % 5), b"v%d" % index)]
        partition.log.append_as_leader(keyed_batch(records), partition.replica.leader_epoch)
    partition.replica.high_watermark = partition.log.log_end_offset


async def test_the_process_compacts_a_log_and_leaves_the_last_values(room, cleaner):
    partition = room.lead(isr=(1,))
    fill(partition)
    held, size, process = values(partition.log), partition.log.size, CleanerProcess()
    try:
        with capture_logs() as said:
            assert await cleaner.clean_filthiest(0, process)
        assert not await cleaner.clean_filthiest(0, process)
    finally:
        await process.close()
    assert values(partition.log) == held
    assert partition.log.size < size / 2
    reached = room.logs.cleaner_offset(TP)
    assert reached == partition.log.compaction.segments[-1].base_offset
    assert any(f"dirty section = [0, {reached}]" in entry["event"] for entry in said)
    figures = cleaner.figures()
    assert figures.gauges["cleaner_recopy_percent"] < 50
    assert figures.io_bytes > size / 2
    directory = room.logs.live[0]
    checkpoint = directory / "cleaner-offset-checkpoint"
    # A first row is there before the swap, with the offset at which the cleaning began.
    await room.until(lambda: checkpoint.exists() and checkpoint.read_text() == f"0\n1\nt 0 {reached}\n")


async def test_a_cleaning_waits_until_the_last_swap_has_reached_the_disk(room, cleaner, monkeypatch):
    """Until then the former file has the name, and its first half looks like the whole segment."""
    partition, may_rename = room.lead(isr=(1,)), threading.Event()
    rename = log_files.finish_swap

    def rename_later(*arguments):
        assert may_rename.wait(60)
        rename(*arguments)

    def write(prefix, keys, count):
        for index in range(count):
            batch = keyed_batch([(b"%s%02d" % (prefix, index % keys), b"v%02d" % index)])
            partition.log.append_as_leader(batch, partition.replica.leader_epoch)
        partition.replica.high_watermark = partition.log.log_end_offset

    monkeypatch.setattr(log_files, "finish_swap", rename_later)
    room.hosted.on_corrupt = lambda *_: pytest.fail("nothing is damaged")
    write(b"k", 6, 12)
    write(b"m", 12, 12)
    held = values(partition.log)
    assert await cleaner.clean_filthiest(0, Inline())
    assert [each.base_offset for each in partition.log.spans()] == [0, 12]
    write(b"n", 12, 12)
    held |= {b"n%02d" % index: b"v%02d" % index for index in range(12)}
    again = asyncio.create_task(cleaner.clean_filthiest(0, Inline()))
    for _ in range(100):
        await asyncio.sleep(0)
    may_rename.set()
    assert await again
    assert not room.hosted.offline
    assert values(partition.log) == held


async def test_a_committed_value_survives_the_truncation_of_uncommitted_ones(room, cleaner):
    """KAFKA-13194: a leader that is cut off takes writes with acks=1, compacts, and truncates them later."""
    partition = room.lead(isr=(1, 2))
    fill(partition, 40)
    held, committed = values(partition.log), partition.log.log_end_offset
    fill(partition, 60)
    partition.replica.high_watermark = committed
    assert await cleaner.clean_filthiest(0, Inline())
    assert room.logs.cleaner_offset(TP) <= committed
    partition.log.truncate_to(committed)
    assert values(partition.log) == held


async def test_the_filthiest_log_comes_first_and_a_log_that_is_not_compacted_never(room, cleaner):
    first, second = room.lead(isr=(1,)), room.lead(isr=(1,), topic_partition=OTHER)
    fill(first)
    fill(second, 90)
    first.log.config = replace(first.log.config, cleanup_policy=frozenset({"delete"}))
    assert await cleaner.clean_filthiest(0, Inline())
    assert room.logs.cleaner_offset(TP) is None
    assert room.logs.cleaner_offset(OTHER) is not None
    assert not await cleaner.clean_filthiest(0, Inline())


def truncate(partition):
    partition.log.truncate_to(20)


def policy(partition):
    partition.log.config = replace(partition.log.config, cleanup_policy=frozenset({"delete"}))


@pytest.mark.parametrize("change", [truncate, policy])
async def test_a_log_that_changes_meanwhile_is_left_alone(room, cleaner, change):
    partition = room.lead(isr=(1,))
    fill(partition)

    def before(step):
        if isinstance(step, NewSegment) and not inline.closed:
            change(partition)
            inline.before = lambda _: None

    inline = Inline(before)
    with capture_logs() as said:
        assert await cleaner.clean_filthiest(3, inline)
    assert "Cleaner 3: The cleaning for partition t-0 is aborted" in [entry["event"] for entry in said]
    assert room.logs.cleaner_offset(TP) is None
    assert not list(partition.log.directory.glob("*.cleaned"))
    assert len(values(partition.log)) == 5


async def test_a_log_that_is_deleted_meanwhile_is_left_alone(room, cleaner):
    partition = room.lead(isr=(1,))
    fill(partition)
    inline = Inline(lambda _: room.hosted.remove(TP, delete=True) if room.hosted.get(TP) else None)
    assert await cleaner.clean_filthiest(0, inline)
    assert not list(room.hosted.offline)


async def test_a_log_that_cannot_be_compacted_is_skipped_until_it_is_another(room, cleaner):
    partition = room.lead(isr=(1,))
    fill(partition)
    corrupt = CorruptLogError(partition.log.spans()[0].path, 7, 0, "expected a batch")
    met = []
    room.hosted.on_corrupt = lambda *each: met.append(each)
    with capture_logs() as said:
        assert await cleaner.clean_filthiest(0, Inline(Mock(side_effect=corrupt)))
    warned = next(entry["event"] for entry in said if entry["log_level"] == "warning")
    assert warned.startswith("Unexpected exception thrown when cleaning log Log(dir=")
    assert warned.endswith("Marking its partition (t-0) as uncleanable")
    assert met == [(partition, corrupt)]
    assert not await cleaner.clean_filthiest(0, Inline())
    families = {family.name: family for family in CleanerMetrics(cleaner.figures).collect()}
    (sample,) = families["kafka_log_LogCleanerManager_uncleanable_partitions_count"].samples
    assert (sample.labels["logDirectory"], sample.value) == (str(room.logs.live[0]), 1)
    partition.log.truncate_to(partition.log.log_end_offset - 1)
    assert await cleaner.clean_filthiest(0, Inline())


async def test_a_disk_that_fails_takes_its_directory_offline(room, cleaner):
    partition = room.lead(isr=(1,))
    fill(partition)
    with capture_logs() as said:
        assert await cleaner.clean_filthiest(0, Inline(Mock(side_effect=OSError(errno.EIO, "broken"))))
    assert "Failed to cleanup log for t-0 due to IOException" in [entry["event"] for entry in said]
    assert list(room.hosted.offline) == [TP]


@pytest.fixture
def now(monkeypatch):
    """The monotonic clock of the pauses after failures, in milliseconds."""
    clock = [0]
    monkeypatch.setattr(log_cleaner, "monotonic_ms", lambda: clock[0])
    return clock


async def test_a_log_whose_cleaner_failed_is_tried_again_later_and_less_often_each_time(room, cleaner, now):
    partition = room.lead(isr=(1,))
    fill(partition)
    for pause_ms in (log_cleaner.RETRY_MS, 2 * log_cleaner.RETRY_MS):
        with capture_logs() as said:
            assert not await cleaner.clean_filthiest(
                0, Inline(Mock(side_effect=CleanerUnavailableError("killed")))
            )
        assert f"the next try is in {pause_ms} ms" in said[-1]["event"]
        now[0] += pause_ms - 1
        assert not await cleaner.clean_filthiest(0, Inline())
        now[0] += 1
    assert not room.hosted.offline
    assert await cleaner.clean_filthiest(0, Inline())
    assert room.logs.cleaner_offset(TP) > 0


def refused(number):
    return Mock(side_effect=OSError(number, "refused"))


@pytest.mark.parametrize("number", [errno.EAGAIN, errno.ENOMEM, errno.ENOENT, errno.EMFILE])
async def test_a_cleaner_that_cannot_be_started_takes_no_directory_offline(
    room, cleaner, now, monkeypatch, number
):
    fill(room.lead(isr=(1,)))
    process = CleanerProcess()
    with monkeypatch.context() as patched:
        patched.setattr(os, "posix_spawn", refused(number))
        assert not await cleaner.clean_filthiest(0, process)
    assert not room.hosted.offline
    now[0] += log_cleaner.RETRY_MS
    assert await cleaner.clean_filthiest(0, process)
    await process.close()


class Watched(CleanerProcess):
    """A cleaner process that a function is given before each step."""

    def __init__(self, watch):
        super().__init__()
        self.watch = watch

    async def steps(self, job):
        async for step in super().steps(job):
            self.watch(self.pid)
            yield step


async def test_a_log_is_cleaned_after_its_cleaner_was_killed(room, cleaner, now):
    partition = room.lead(isr=(1,))
    fill(partition)
    held, process = values(partition.log), Watched(lambda pid: os.kill(pid, signal.SIGKILL))
    assert not await cleaner.clean_filthiest(0, process)
    now[0] += log_cleaner.RETRY_MS
    process.watch = lambda _: None
    assert await cleaner.clean_filthiest(0, process)
    await process.close()
    assert values(partition.log) == held
    assert not room.hosted.offline


async def test_a_cleaner_that_is_silent_is_given_up(room, cleaner, now, monkeypatch):
    fill(room.lead(isr=(1,)))
    process = CleanerProcess()
    monkeypatch.setattr(cleaner_process, "STEP_TIMEOUT_S", 0.0)
    assert not await cleaner.clean_filthiest(0, process)
    assert process.pid is None


async def test_the_cleaner_has_none_of_the_brokers_descriptors(room, cleaner):
    """A child that kept the listener's would keep its port from the broker's next start."""
    fill(room.lead(isr=(1,)))
    inodes = []

    def watch(pid):
        inodes.extend(each.stat().st_ino for each in Path(f"/proc/{pid}/fd").iterdir())

    process = Watched(watch)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        assert await cleaner.clean_filthiest(0, process)
        assert os.fstat(listener.fileno()).st_ino not in inodes
    await process.close()
    assert inodes


@pytest.mark.parametrize("number", [errno.ENOMEM, errno.EMFILE])
def test_a_want_of_the_cleaner_is_no_error_of_the_disk(room, monkeypatch, number):
    partition = room.lead(isr=(1,))
    fill(partition)
    due = log_to_clean(facts_of(partition.log, partition.replica.high_watermark), 0, 0)
    job = pickle.dumps(plan(partition.log, due, SETTINGS.memory))
    monkeypatch.setattr(rewrite, "mmap" if number == errno.ENOMEM else "open_to_read", refused(number))
    answers = io.BytesIO()
    worker.serve(io.BytesIO(job), answers)
    assert isinstance(pickle.loads(answers.getvalue()[worker.LENGTH_BYTES :]), CleanerUnavailableError)


async def test_the_process_reports_a_damaged_batch(room, cleaner):
    partition, process = room.lead(isr=(1,)), CleanerProcess()
    fill(partition)
    path, met = partition.log.spans()[0].path, []
    path.write_bytes(path.read_bytes()[:-1] + b"x")
    room.hosted.on_corrupt = lambda _, error: met.append(error)
    assert await cleaner.clean_filthiest(0, process)
    assert (met[0].path, met[0].error) == (path, ErrorCode.CORRUPT_MESSAGE)
    assert str(path) in str(met[0])


async def test_a_disk_that_refuses_a_timestamp_ends_no_cleaner_thread(room, cleaner, monkeypatch):
    partition = room.lead(isr=(1,))
    fill(partition)
    partition.log.config = replace(partition.log.config, max_compaction_lag_ms=1)
    monkeypatch.setattr(LogSegment, "first_timestamp", property(refused(errno.EIO)))
    assert not await cleaner.clean_filthiest(0, Inline())
    assert list(room.hosted.offline) == [TP]


async def test_a_swap_without_descriptors_is_tried_again_after_a_pause(room, cleaner, monkeypatch):
    partition = room.lead(isr=(1,))
    fill(partition)
    with monkeypatch.context() as patched:
        patched.setattr(compaction, "open_cleaned", refused(errno.EMFILE))
        assert not await cleaner.clean_filthiest(0, Inline())
    assert not room.hosted.offline
    assert await cleaner.clean_filthiest(0, Inline())


async def test_segments_below_the_log_start_go_between_two_cleanings(room):
    partition = room.lead(isr=(1,))
    fill(partition)
    partition.log.raise_log_start(30)
    cleaner = LogCleaner(room.hosted, lambda: replace(SETTINGS, backoff_ms=0), Inline)
    supervisor = Supervisor(lambda *_: None)
    running = asyncio.create_task(cleaner.run(supervisor))
    await room.until(lambda: partition.log.first_segment_offset > 0)
    running.cancel()
    await cleaner.close()
    assert not supervisor.names


async def test_a_thread_that_dies_is_counted_and_ends_nothing_else(room, monkeypatch):
    cleaner = LogCleaner(room.hosted, lambda: SETTINGS, Inline)
    monkeypatch.setattr(cleaner, "clean_filthiest", AsyncMock(side_effect=ValueError("a mistake")))
    supervisor = Supervisor(lambda *_: pytest.fail("the broker goes on"))
    running = asyncio.create_task(cleaner.run(supervisor))
    await room.until(lambda: cleaner.figures().gauges["DeadThreadCount"])
    running.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await running
    await cleaner.close()
