from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from broker.core.log_config import LogConfig
from broker.core.record_batch import whole_batches
from broker.disk.flushing import Flushing
from broker.disk.log_files import LogFiles
from broker.disk.recovery import LogState, load_log

CONFIG = LogConfig(index_interval_bytes=100)


class Later:
    """An executor that runs nothing until it is told to."""

    def __init__(self):
        self.work = []

    def submit(self, fn):
        future = Future()
        self.work.append(lambda: future.set_result(fn()))
        return future

    def run(self):
        while self.work:
            self.work.pop(0)()


@pytest.fixture
def later():
    return Later()


@pytest.fixture
def files(tmp_path: Path, later):
    opened = LogFiles(tmp_path, load_log(tmp_path, CONFIG, LogState(), 0), later)
    yield opened
    later.run()
    opened.close()


def put(files, data):
    files.append([data], list(whole_batches(data)), CONFIG)


def test_one_write_of_several_batches_is_indexed_batch_by_batch(files, batch):
    data = b"".join(batch(2, base_offset=2 * n, epoch=n // 3) for n in range(6))
    put(files, data)
    assert files.log_end_offset == 12
    assert files.epochs.entries == ((0, 0), (1, 6))
    assert len(files.segments.active.offset_index) == 2


def test_a_roll_does_not_wait_for_the_disk(files, later, batch):
    put(files, batch(2, producer=(4, 0, 0)))
    files.roll(CONFIG, 0)
    assert (len(files.segments), files.flushing.recovery_point()) == (2, 0)
    assert not (files.directory / f"{2:020d}.snapshot").exists()
    put(files, batch(1, base_offset=2))
    later.run()
    assert files.flushing.recovery_point() == 2
    assert (files.directory / f"{2:020d}.snapshot").stat().st_size == 10 + 46
    assert (files.directory / f"{0:020d}.timeindex").stat().st_size == 12


def test_reads_stay_within_a_segment(files, batch):
    put(files, batch(2))
    files.roll(CONFIG, 0)
    put(files, batch(2, base_offset=2))
    assert files.read(0, 1 << 20, 4, min_one_batch=True).next_offset == 2
    assert files.read(2, 1 << 20, 4, min_one_batch=True).next_offset == 4
    assert files.bytes_between(0, 4) == files.segments.size


def test_retired_segments_are_renamed_behind_what_still_goes_on_with_them(files, later, batch):
    put(files, batch(2))
    files.roll(CONFIG, 0)
    first = next(iter(files.segments))
    retired = files.retire_first(1)
    assert [segment.base_offset for segment in files.segments] == [2]
    assert not first.is_closed
    later.run()
    assert first.is_closed
    assert files.flushing.recovery_point() == 2
    assert {path.name[20:] for path in retired if path.exists()} == {
        ".log.deleted",
        ".index.deleted",
        ".timeindex.deleted",
    }


def test_a_log_that_is_closed_meanwhile_closes_them_too(files, later, batch):
    put(files, batch(2))
    files.roll(CONFIG, 0)
    first = next(iter(files.segments))
    files.retire_first(1)
    later.work.clear()
    files.flushing = Flushing(later, 0)
    files.close()
    assert first.is_closed
