from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.disk.segment.index import OffsetIndex, TimeIndex

ENTRIES = st.lists(st.tuples(st.integers(1, 50), st.integers(1, 5000)), max_size=30)


def ascending(steps, start):
    """(step, step) pairs summed up, so that both numbers rise strictly."""
    first, second, out = start, 0, []
    for a, b in steps:
        first, second = first + a, second + b
        out.append((first, second))
    return out


@given(ENTRIES, st.integers(990, 2600), st.integers(0, 150_000))
def test_offset_lookups_find_what_a_slow_search_finds(tmp_path_factory, steps, offset, position):
    base = 1000
    index = OffsetIndex(tmp_path_factory.getbasetemp() / "offsets", base, 8 * 1024)
    entries = ascending(steps, base)
    for entry in entries:
        index.append(*entry)
    assert index.lookup(offset) == max([e for e in entries if e[0] <= offset], default=(base, 0))
    assert index.lookup_position(position) == max([e for e in entries if e[1] <= position], default=(base, 0))
    assert index.last_entry == (entries[-1] if entries else (base, 0))
    index.truncate_to(offset)
    kept = [e for e in entries if e[0] < offset]
    assert len(index) == len(kept)
    assert index.last_entry == (kept[-1] if kept else (base, 0))


@given(ENTRIES, st.integers(-5, 2000), st.integers(0, 1600))
def test_time_lookups_find_what_a_slow_search_finds(tmp_path_factory, steps, timestamp, offset):
    index = TimeIndex(tmp_path_factory.getbasetemp() / "times", 0, 12 * 1024)
    entries = [(a, b) for a, b in ascending(steps, 0)]
    for entry in entries:
        index.maybe_append(*entry)
        index.maybe_append(*entry)
    assert len(index) == len(entries)
    assert index.lookup(timestamp) == max([e for e in entries if e[0] <= timestamp], default=(-1, 0))
    index.truncate_to(offset)
    assert len(index) == len([e for e in entries if e[1] < offset])


def test_files_are_kafkas_bytes(tmp_path):
    offsets, times = OffsetIndex(tmp_path / "a", 100, 800), TimeIndex(tmp_path / "b", 100, 1200)
    for index in (offsets, times):
        index.preallocate()
    assert (tmp_path / "a").read_bytes() == bytes(800)
    assert (tmp_path / "b").read_bytes() == bytes(1200)
    offsets.append(102, 4097)
    times.maybe_append(1_700_000_000_000, 101)
    for index in (offsets, times):
        index.store()
    assert (tmp_path / "a").read_bytes().hex() == "0000000200001001"
    assert (tmp_path / "b").read_bytes().hex() == "0000018bcfe56800" + "00000001"


def test_sizes_are_rounded_down_and_time_keeps_one_slot(tmp_path):
    offsets, times = OffsetIndex(tmp_path / "a", 0, 31), TimeIndex(tmp_path / "b", 0, 39)
    offsets.preallocate()
    assert (tmp_path / "a").stat().st_size == 24
    for n in range(1, 4):
        assert not offsets.is_full
        offsets.append(n, n * 100)
        if n < 3:
            assert not times.is_full
            times.maybe_append(n, n)
    assert offsets.is_full
    assert times.is_full


def test_entries_come_back_when_they_are_needed(tmp_path):
    index = OffsetIndex(tmp_path / "a", 0, 80)
    index.append(1, 10)
    index.append(2, 20)
    index.unload()
    assert index.lookup(1) == (1, 10)
    index.store()
    index.unload()
    assert (len(index), index.last_entry) == (2, (2, 20))
    again = OffsetIndex(tmp_path / "a", 0, 80)
    assert again.load()
    assert (len(again), again.last_entry, again.lookup(1)) == (2, (2, 20), (1, 10))
    again.preallocate()
    assert again.lookup(2) == (2, 20)


def test_files_that_cannot_be_right_are_not_loaded(tmp_path):
    path = tmp_path / "a"
    assert not OffsetIndex(path, 0, 80).load()
    for content, right in (
        (b"", True),
        (b"1234567", False),
        (bytes(8), False),
        (b"\0" * 8 + b"\1" * 8, True),
    ):
        path.write_bytes(content)
        assert OffsetIndex(path, 0, 80).load() is right
