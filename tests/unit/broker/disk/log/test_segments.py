from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from barnabas.broker.core.records.log_config import LogConfig
from barnabas.broker.disk.log.segments import LogSegments
from barnabas.broker.disk.segment.segment import LogSegment

CONFIG = LogConfig(index_interval_bytes=150)
BATCHES, PER_SEGMENT = 30, 6


@pytest.fixture(scope="module")
def built(tmp_path_factory, batch):
    """Five segments of six batches of two records; every batch as (base offset, segment, position, size)."""
    directory = tmp_path_factory.mktemp("segments")
    segments, known = LogSegments([]), []
    for n in range(BATCHES):
        if n % PER_SEGMENT == 0:
            segments.add(LogSegment(directory, 2 * n, CONFIG, 0))
        data = batch(2, value=b"v" * (n * 7 % 50), base_offset=2 * n)
        active = segments.active
        position = active.write([data], len(data))
        active.index(position, len(data), 2 * n + 1, n, CONFIG.index_interval_bytes)
        known.append((2 * n, active, position, len(data)))
    for segment in segments:
        segment.store_indexes()
    yield segments, known
    for segment in segments:
        segment.close()


def test_offsets_are_in_one_segment_as_their_batches_are(built):
    segments, known = built
    for first in range(2 * BATCHES):
        for last in range(first, 2 * BATCHES):
            together = known[first // 2][1] is known[last // 2][1]
            assert segments.are_in_one(first, last) == together


def test_every_offset_is_located(built):
    segments, known = built
    for _ in range(2):
        for offset in range(2 * BATCHES):
            base, segment, position, _ = known[offset // 2]
            assert segments.locate(offset) == (segment, position, base)
    assert segments.locate(2 * BATCHES) == (segments.active, segments.active.size, 2 * BATCHES)


def test_ends(built):
    segments, _ = built
    assert [segments.end_of(s, 60) for s in segments] == [12, 24, 36, 48, 60]
    assert [s.base_offset for s in segments.from_offset(25)] == [24, 36, 48]
    assert len(segments) == 5
    assert segments.size == sum(s.size for s in segments)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 59), st.integers(0, 59))
def test_bytes_between_are_the_sum_of_the_batches(built, one, other):
    segments, known = built
    start, end = sorted((one, other))
    expected = sum(size for *_, size in known[start // 2 : end // 2])
    assert segments.bytes_between(segments.locate(start), segments.locate(end)) == expected


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.integers(0, 59), st.integers(0, 1200), st.booleans())
def test_a_read_ends_at_the_last_whole_batch(built, offset, max_bytes, min_one):
    segments, known = built
    start = segments.locate(offset)
    found = segments.read(start, start.segment.size, max_bytes, min_one_batch=min_one)
    rest = [
        (base, size) for base, segment, _, size in known if segment is start.segment and base >= start.offset
    ]
    if sum(size for _, size in rest) <= max_bytes:
        assert found is None
        return
    taken = []
    for base, size in rest:
        if sum(s for _, s in taken) + size <= max_bytes or (min_one and not taken):
            taken.append((base, size))
        else:
            break
    assert len(found.records) == sum(size for _, size in taken)
    assert found.next_offset == (taken[-1][0] + 2 if taken else start.offset)


def test_what_is_remembered_can_be_forgotten(tmp_path):
    segments = LogSegments([LogSegment(tmp_path, 0, CONFIG, 0)])
    segments.remember(7, segments.active, 99)
    assert segments.locate(7).position == 99
    segments.forget()
    assert segments.locate(7).position == 0
    for n in range(600):
        segments.remember(n, segments.active, n)
    assert segments.locate(5).position == 0
    assert segments.locate(599).position == 599
    (removed,) = segments.remove_from(0)
    removed.close()
    assert len(segments) == 0


def test_the_oldest_are_taken_out(tmp_path, batch):
    segments = LogSegments([LogSegment(tmp_path, base, CONFIG, 0) for base in (0, 2, 4, 6)])
    for segment in segments:
        data = batch(2, base_offset=segment.base_offset)
        segment.write([data], len(data))
        segment.index(0, len(data), segment.base_offset + 1, 0, CONFIG.index_interval_bytes)
        segment.store_indexes()
        segments.remember(segment.base_offset, segment, 0)
        segments.locate(segment.base_offset + 1)
    removed = segments.remove_first(2)
    assert [segment.base_offset for segment in removed] == [0, 2]
    assert [segment.base_offset for segment in segments] == [4, 6]
    for segment in removed:
        segment.retire()
    # Nothing of what was remembered leads to a segment that is gone.
    assert [segments.locate(offset).offset for offset in range(8)] == [4, 4, 4, 4, 4, 4, 6, 6]
    assert [segment.base_offset for segment in segments.from_offset(0)] == [4, 6]
    for segment in segments:
        segment.close()
