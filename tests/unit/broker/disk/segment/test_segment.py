from __future__ import annotations

import contextlib
import os
import socket
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.errors import CorruptLogError
from barnabas.broker.disk.segment.segment import LogSegment

CONFIG = LogConfig(segment_bytes=10_000, segment_ms=1000, segment_index_bytes=240, index_interval_bytes=100)
NOW = 5_000_000


@pytest.fixture
def new_segment(tmp_path):
    made = []

    def new(config=CONFIG, base=0):
        made.append(LogSegment(tmp_path, base, config, NOW))
        made[-1].activate()
        return made[-1]

    yield new
    for segment in made:
        segment.close()


def put(segment, data, last_offset, timestamp):
    position = segment.write([data], len(data))
    segment.index(position, len(data), last_offset, timestamp, CONFIG.index_interval_bytes)
    return position


def filled(segment, batch, count, value=b"v"):
    """Batches of two records, one batch a second."""
    for n in range(count):
        time = 1000 * n
        put(
            segment,
            batch(2, value=value, timestamps=[time, time + 1], base_offset=2 * n),
            2 * n + 1,
            time + 1,
        )
    return segment


def test_an_entry_is_written_once_the_interval_has_passed(new_segment, batch):
    segment = filled(new_segment(), batch, 5)
    size = segment.size // 5
    assert size < 100 < 2 * size
    assert [segment.offset_index.lookup(n)[1] for n in (4, 5, 8, 9)] == [0, 2 * size, 2 * size, 4 * size]
    assert segment.time_index.last_entry == (4001, 9)


def test_batches_are_found_by_offset(new_segment, batch):
    segment = filled(new_segment(), batch, 20)
    for offset in range(40):
        found = segment.locate(offset)
        assert found.header.base_offset == offset // 2 * 2
        assert segment.read_header(found.position) == found.header
    assert segment.locate(40) is None
    assert [h.base_offset for _, h in segment.batches_from(35)] == [34, 36, 38]


def test_batches_are_found_by_time(new_segment, batch):
    segment = filled(new_segment(), batch, 20)
    assert [b.header.base_offset for b in segment.batches_since(17_001, 0)] == [34, 36, 38]
    assert [b.header.base_offset for b in segment.batches_since(0, 37)] == [36, 38]
    assert list(segment.batches_since(99_000, 0)) == []


def test_rolls(new_segment, batch):
    segment = new_segment()
    assert not segment.must_roll(20_000, 9_999_999, 1, CONFIG, NOW)
    data = batch(2, timestamps=[500, 501])
    put(segment, data, 1, 501)
    assert not segment.must_roll(10_000 - len(data), 501 + 1000, 3, CONFIG, NOW)
    assert segment.must_roll(10_001 - len(data), 501, 3, CONFIG, NOW)
    assert segment.must_roll(10, 501 + 1001, 3, CONFIG, NOW)
    assert segment.must_roll(10, 501, 2**31, CONFIG, NOW)
    assert not segment.must_roll(10, 501, 2**31 - 1, CONFIG, NOW)


def test_a_segment_without_timestamps_rolls_by_the_wall_clock(new_segment, batch):
    segment = new_segment()
    put(segment, batch(1, timestamps=[-1]), 0, -1)
    assert not segment.must_roll(10, -1, 1, CONFIG, NOW + 1000)
    assert segment.must_roll(10, -1, 1, CONFIG, NOW + 1001)


def test_a_full_index_rolls(new_segment, batch):
    segment = filled(new_segment(), batch, 39)
    assert not segment.offset_index.is_full
    assert segment.time_index.is_full
    assert segment.must_roll(10, 0, 100, CONFIG, NOW)


def test_indexes_are_stored_with_the_last_time_entry(new_segment, batch, tmp_path):
    segment = filled(new_segment(), batch, 4)
    assert segment.time_index.last_entry == (2001, 5)
    segment.end()
    segment.store_indexes()
    assert segment.time_index.last_entry == (3001, 7)
    assert (tmp_path / f"{0:020d}.index").stat().st_size == 8
    assert (tmp_path / f"{0:020d}.timeindex").stat().st_size == 24
    loaded = LogSegment(tmp_path, 0, CONFIG, NOW)
    assert loaded.load_indexes()
    assert loaded.max_timestamp == 3001
    assert loaded.load_end() == 8
    loaded.close()


def test_an_end_that_no_batch_fills_is_noticed(new_segment, batch):
    segment = filled(new_segment(), batch, 4)
    put(segment, batch(1)[:-1], 8, 0)
    with pytest.raises(CorruptLogError, match=r"\.log, byte 308: magic 2 and 73 bytes"):
        segment.load_end()


def test_truncation_cuts_file_and_indexes(new_segment, batch):
    segment = filled(new_segment(), batch, 20)
    cut = segment.locate(14)
    segment.truncate(cut.position, 14)
    assert (segment.size, segment.path.stat().st_size) == (cut.position, cut.position)
    assert segment.locate(14) is None
    assert segment.max_timestamp == 6001
    assert segment.offset_index.last_entry.offset < 14
    assert segment.load_end() == 14


def test_preallocation_is_cut_off_at_the_end(new_segment, batch):
    segment = filled(new_segment(replace(CONFIG, preallocate=True)), batch, 2)
    assert segment.path.stat().st_size == 10_000
    segment.end()
    assert segment.path.stat().st_size == segment.size


def test_deletion_leaves_nothing(tmp_path):
    segment = LogSegment(tmp_path, 0, CONFIG, NOW)
    segment.activate()
    segment.delete()
    assert list(tmp_path.iterdir()) == []


def test_the_largest_timestamp_is_the_files_where_records_have_none(new_segment, batch, tmp_path):
    segment = new_segment()
    os.utime(segment.path, ns=(0, 77_000_999_999))
    assert segment.largest_timestamp == 77_000
    put(segment, batch(1, timestamps=[-1]), 0, -1)
    os.utime(segment.path, ns=(0, 78_000_000_000))
    assert segment.largest_timestamp == 78_000
    put(segment, batch(1, timestamps=[9000], base_offset=1), 1, 9000)
    assert segment.largest_timestamp == 9000


def test_the_index_files_wait_for_the_first_batch(new_segment, batch, tmp_path):
    segment = new_segment()
    assert [path.suffix for path in tmp_path.iterdir()] == [".log"]
    put(segment, batch(1, timestamps=[9000]), 0, 9000)
    assert segment.offset_index.path.stat().st_size == 240
    assert segment.time_index.path.stat().st_size == 240


def test_a_retired_segments_files_have_other_names(new_segment, batch, tmp_path):
    segment = new_segment(base=7)
    put(segment, batch(1, timestamps=[9000], base_offset=7), 7, 9000)
    segment.path.with_suffix(".snapshot").touch()
    segment.retire()
    assert not segment.is_closed
    found = sorted(path.name[19:] for path in tmp_path.iterdir())
    assert found == [f"7.{kind}.deleted" for kind in ("index", "log", "snapshot", "timeindex")]
    assert {path.name for path in tmp_path.iterdir()} < {path.name for path in segment.retired_paths}


@pytest.mark.parametrize("call", ["sendfile", "pread"])
def test_a_file_that_is_closed_during_a_call_is_taken_for_no_other(
    new_segment, batch, tmp_path, monkeypatch, call
):
    """Another thread closes the segment just before the system call, and opens a file of another topic."""
    segment, real, other = new_segment(), getattr(os, call), tmp_path / "other"
    put(segment, batch(1, timestamps=[9000]), 0, 9000)
    size, number = segment.size, int(segment.fd)
    content, records = segment.read(0, size), segment.records(0, size)
    other.write_bytes(b"x" * size)
    opened = []

    def called(*arguments):
        segment.close()
        opened.append(os.open(other, os.O_RDONLY))
        return real(*arguments)

    with monkeypatch.context() as patched, contextlib.ExitStack() as stack:
        patched.setattr(os, call, called)
        ours, theirs = (stack.enter_context(each) for each in socket.socketpair())
        sent = (
            records.read(0, size)
            if call == "pread"
            else theirs.recv(records.write_to(ours.fileno(), 0, size))
        )
    assert sent == content
    opened.append(os.open(other, os.O_RDONLY))
    assert opened[-1] == number  # it was closed after the call
    for each in opened:
        os.close(each)


def stored(segment, batch, count):
    """A segment that gets no more batches, its indexes on disk and not in memory."""
    filled(segment, batch, count)
    segment.end()
    segment.store_indexes()
    segment.unload_indexes()
    return segment


@pytest.mark.parametrize("bit", [1, 4, 0x80])
@pytest.mark.parametrize("at", range(0, 40, 3))
def test_an_index_that_contradicts_the_batches_is_rebuilt(new_segment, batch, tmp_path, at, bit):
    segment = stored(new_segment(), batch, 12)
    path = tmp_path / f"{0:020d}.index"
    right = path.read_bytes()
    path.write_bytes(right[:at] + bytes([right[at] ^ bit]) + right[at + 1 :])
    for offset in (*range(24), *range(23, -1, -1)):
        assert segment.locate(offset).header.base_offset == offset // 2 * 2
    for limit in range(0, segment.size, 40):
        near = next(segment.headers_near(limit, 0))
        assert near.position <= limit
        assert segment.read_header(near.position).base_offset == near.header.base_offset


@pytest.mark.parametrize("kept", range(6))
def test_a_time_index_without_its_last_entries_is_rebuilt(new_segment, batch, tmp_path, kept):
    path = tmp_path / f"{0:020d}.timeindex"
    stored(new_segment(), batch, 12)
    right = path.read_bytes()
    path.write_bytes(right[: 12 * kept])
    loaded = LogSegment(tmp_path, 0, CONFIG, NOW)
    assert loaded.load_indexes()
    assert loaded.max_timestamp == 11_001
    assert path.read_bytes() == right
    loaded.close()


def test_an_index_is_kept_where_the_batches_cannot_be_read(new_segment, batch):
    segment = stored(new_segment(), batch, 12)
    third = 2 * (segment.size // 12)
    with segment.path.open("r+b") as file:
        file.seek(third + 16)
        file.write(b"\0")
    with pytest.raises(CorruptLogError, match=f"byte {third}: magic 0"):
        segment.locate(4)
    assert segment.locate(3).header.base_offset == 2
    assert [segment.locate(offset).header.base_offset for offset in (9, 23)] == [8, 22]
    assert list(segment.batches_since(11_001, 0))


class SlowSegment:
    """The batches in a list, looked through from the first one each time."""

    def __init__(self):
        self.batches = []

    def locate(self, offset):
        return next((first for first, last, _ in self.batches if last >= offset), None)

    def batches_since(self, timestamp, first_offset):
        return [first for first, last, time in self.batches if time >= timestamp and last >= first_offset]

    @property
    def max_timestamp(self):
        return max((time for _, _, time in self.batches), default=-1)


BATCHES = st.lists(st.tuples(st.integers(0, 3), st.integers(1, 3), st.integers(1, 40)), max_size=12)
"""Of each batch the gap before it, its records and their timestamp: an index entry of zeros alone, as of
timestamp 0 at the first offset, passes for unused, and its index is built again."""


@given(BATCHES, st.integers(0, 60), st.tuples(st.sampled_from([50, 100, 300]), st.booleans()))
def test_lookups_find_what_a_slow_search_finds(tmp_path_factory, batch, steps, cut, how):
    interval, reopened = how
    directory = tmp_path_factory.mktemp("segment")
    config = replace(CONFIG, index_interval_bytes=interval)
    segment, model, end = LogSegment(directory, 0, config, NOW), SlowSegment(), 0
    segment.activate()
    for gap, count, time in steps:
        first, end = end + gap, end + gap + count
        data = batch(count, timestamps=[time] * count, base_offset=first)
        segment.index(segment.write([data], len(data)), len(data), end - 1, time, interval)
        model.batches.append((first, end - 1, time))
    found = segment.locate(cut)
    if found is not None:
        segment.truncate(found.position, cut)
        model.batches = [kept for kept in model.batches if kept[1] < cut]
    if reopened:
        segment.end()
        segment.store_indexes()
        segment.close()
        segment = LogSegment(directory, 0, config, NOW)
        assert segment.load_indexes()
    for offset in range(end + 2):
        located = segment.locate(offset)
        assert (located.header.base_offset if located else None) == model.locate(offset)
        for timestamp in (0, 13, 40, 41):
            since = [b.header.base_offset for b in segment.batches_since(timestamp, offset)]
            assert since == model.batches_since(timestamp, offset)
    assert segment.max_timestamp == model.max_timestamp
    segment.close()
