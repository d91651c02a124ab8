from __future__ import annotations

from concurrent.futures import Future
from pathlib import Path

import pytest

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.core.records.record_batch import parse_header
from barnabas.broker.disk.checkpoints import read_epochs
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.log.log_files import LogFiles
from barnabas.broker.disk.log.recovery import LogState, load_log
from barnabas.broker.disk.names import files_with, offset_of
from barnabas.broker.disk.segment.scrub import DamagedRange
from barnabas.cluster.model.epochs import LeaderEpoch
from tests.batches import whole_batches

EPOCH = LeaderEpoch(3)
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
    opened = LogFiles(tmp_path, load_log(tmp_path, CONFIG, LogState(), 0), later, lambda: None)
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
    (retired,) = files.retire_first(1)
    assert retired is first
    assert [segment.base_offset for segment in files.segments] == [2]
    assert first.path.exists()
    later.run()
    assert not first.is_closed
    first.close()
    assert files.flushing.recovery_point() == 2
    assert {path.name[20:] for path in first.retired_paths if path.exists()} == {
        ".log.deleted",
        ".index.deleted",
        ".timeindex.deleted",
    }


def test_a_segment_is_named_by_its_first_batch_also_behind_a_gap(files, later, batch):
    put(files, batch(2))
    files.roll(CONFIG, 0, 70)
    put(files, batch(2, base_offset=70))
    assert [segment.base_offset for segment in files.segments] == [0, 70]
    found = files.read(2, 1 << 20, 72, min_one_batch=True)
    assert (bytes(found.records), found.next_offset) == (batch(2, base_offset=70), 72)
    later.run()
    assert (files.directory / f"{70:020d}.snapshot").exists()


@pytest.mark.parametrize("to", [5, 6])
def test_what_cannot_be_read_goes_with_what_is_truncated(files, batch, to):
    put(files, b"".join(batch(2, base_offset=2 * n) for n in range(6)))
    segment = files.segments.active
    with segment.path.open("r+b") as file:
        file.seek(2 * (segment.size // 6) + 16)
        file.write(b"\0")
    files.truncate_to(to, 0)
    assert files.log_end_offset == 4
    assert [header.base_offset for _, header in segment.headers()] == [0, 2]
    put(files, batch(2, base_offset=4))
    assert files.bytes_between(0, 6) == files.segments.size


def overwrite(segment, position, data=b"\0"):
    with segment.path.open("r+b") as file:
        file.seek(position)
        file.write(data)


def known_damage(files, segment, *numbers):
    """Damage these batches of 12 of the segment, and note it."""
    size = segment.size // 12
    for number in numbers:
        overwrite(segment, number * size, bytes(61))
    ranges = [DamagedRange(n * size, (n + 1) * size, 2 * n, 2 * n + 2) for n in numbers]
    assert files.note_damage(files.spans()[0], ranges)


def test_what_lies_between_damage_and_the_next_index_entry_is_read(files, batch):
    data = b"".join(batch(2, base_offset=2 * n) for n in range(12))
    files.append([data], list(whole_batches(data)), LogConfig(index_interval_bytes=400))
    segment = files.segments.active
    assert [each.offset // 2 for each in segment.offset_index.all_entries()] == [5, 10]
    known_damage(files, segment, 2, 6, 8)
    files.segments.forget()
    for number in range(12):
        for offset in (2 * number, 2 * number + 1):
            if number in (2, 6, 8):
                with pytest.raises(CorruptLogError):
                    files.read(offset, 1 << 20, 24, min_one_batch=True)
            else:
                records = bytes(files.read(offset, 1, 24, min_one_batch=True).records)
                assert records == batch(2, base_offset=2 * number)
                upper = files.read(offset, 1 << 20, 2 * number + 2, min_one_batch=True)
                assert (bytes(upper.records), upper.next_offset) == (records, 2 * number + 2)


def test_damage_before_a_read_does_not_end_it_early(files, batch):
    """The start of the read is remembered; its end is looked up from an index entry before the damage."""
    data = [batch(2, base_offset=2 * n) for n in range(12)]
    files.append([b"".join(data)], list(whole_batches(b"".join(data))), LogConfig(index_interval_bytes=400))
    segment = files.segments.active
    first = segment.offset_index.all_entries()[0].offset // 2
    assert segment.offset_index.all_entries()[1].offset // 2 > first + 4
    overwrite(segment, (first + 1) * len(data[0]), bytes(61))
    files.segments.forget()
    files.segments.remember(2 * first + 4, segment, (first + 2) * len(data[0]))
    found = files.read(2 * first + 4, 1 << 20, 2 * first + 6, min_one_batch=True)
    assert (bytes(found.records), found.next_offset) == (data[first + 2], 2 * first + 6)
    # Damage behind the start ends the read before it, and damage at the start fails it.
    overwrite(segment, (first + 3) * len(data[0]), bytes(61))
    found = files.read(2 * first + 4, 1 << 20, 2 * first + 8, min_one_batch=True)
    assert (bytes(found.records), found.next_offset) == (data[first + 2], 2 * first + 6)
    overwrite(segment, (first + 2) * len(data[0]), bytes(61))
    with pytest.raises(CorruptLogError):
        files.read(2 * first + 4, 1 << 20, 2 * first + 6, min_one_batch=True)


def test_damage_of_the_next_segment_does_not_fail_a_read_that_ends_in_a_gap(files, batch):
    put(files, batch(2))
    files.roll(CONFIG, 0, 70)
    put(files, batch(2, base_offset=70))
    put(files, batch(2, base_offset=72))
    overwrite(files.segments.active, 0, bytes(61))
    files.segments.forget()
    found = files.read(0, 1 << 20, 40, min_one_batch=True)
    assert (bytes(found.records), found.next_offset) == (batch(2), 70)


def test_a_batch_is_found_by_time_and_offset(files, batch):
    put(files, batch(2, timestamps=[10, 20]) + batch(2, base_offset=2, timestamps=[5, 30]))
    assert files.batch_since(15, 0).batch.header.base_offset == 0
    second = files.batch_since(15, 2)
    assert (second.batch.header.base_offset, second.position) == (2, len(batch(2)))
    assert second.batch.data == batch(2, base_offset=2, timestamps=[5, 30])
    assert files.batch_since(31, 0) is None


@pytest.mark.parametrize("max_bytes", [1, 200, 1 << 20])
@pytest.mark.parametrize("upper_bound", [7, 12])
def test_what_lies_before_a_corrupt_batch_is_read(files, batch, max_bytes, upper_bound):
    built = [batch(2, base_offset=2 * n) for n in range(6)]
    put(files, b"".join(built))
    with files.segments.active.path.open("r+b") as file:
        file.seek(3 * len(built[0]) + 8)
        file.write(bytes(4))
    files.segments.forget()
    for offset in range(6):
        found = files.read(offset, max_bytes, upper_bound, min_one_batch=True)
        (first, *_) = whole_batches(bytes(found.records))
        assert bytes(first.data) == built[offset // 2]
        if upper_bound == 7:
            assert found.next_offset <= 6
    with pytest.raises(CorruptLogError):
        files.read(6, max_bytes, upper_bound, min_one_batch=True)


def snapshots(log):
    return [offset_of(path) for path in files_with(log.directory, ".snapshot")]


def test_truncation_leaves_no_snapshot_of_what_was_cut(logs, batch):
    """Or a log that has grown again, otherwise, would go by what another leader's producers had written."""
    log = logs.open(LogConfig(segment_bytes=100))
    for n in range(6):
        log.append_as_leader(batch(1, producer=(9, 0, n)), EPOCH)
    assert snapshots(log) == [1, 2, 3, 4, 5]
    log.truncate_to(3)
    assert snapshots(log) == [1, 2, 3]
    log.truncate_fully_and_start_at(100)
    assert snapshots(log) == []


def test_a_log_that_starts_again_knows_no_producer(logs, batch):
    log = logs.open()
    log.append_as_leader(batch(1, producer=(9, 3, 0)), EPOCH)
    log.truncate_fully_and_start_at(100)
    assert log.append_as_leader(batch(1, producer=(9, 0, 50)), EPOCH).first_offset == 100


def test_a_log_that_is_cut_below_its_start_starts_there(logs, batch):
    log = logs.open()
    for _ in range(5):
        log.append_as_leader(batch(2), EPOCH)
    log.raise_log_start(7)
    assert log.truncate_to(4)
    assert (log.log_start_offset, log.log_end_offset) == (4, 4)
    assert log.append_as_leader(batch(2), EPOCH).first_offset == 4
    assert parse_header(log.read(4, 1, 6).records).base_offset == 4


def test_the_age_of_a_segment_starts_with_its_first_batch(logs, batch):
    log = logs.open(LogConfig(segment_ms=1000))
    log.append_as_leader(batch(1, timestamps=[5_000]), EPOCH)
    log.truncate_to(0)
    for time in (20_000, 20_900):
        log.append_as_leader(batch(1, timestamps=[time]), EPOCH)
    assert log.segment_count == 1
    log.append_as_leader(batch(1, timestamps=[21_001]), EPOCH)
    assert log.segment_count == 2


def test_the_checkpoint_of_epochs_follows_the_log_start(logs, batch):
    log = logs.open()
    for epoch in (2, 2, 5):
        log.append_as_leader(batch(2), epoch)
    log.raise_log_start(3)
    assert read_epochs(log.directory / "leader-epoch-checkpoint") == [(2, 3), (5, 4)]
