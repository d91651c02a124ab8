from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.core.offsets_before import OffsetAndTime, offsets_before

ROWS = [OffsetAndTime(0, 100), OffsetAndTime(10, 200), OffsetAndTime(20, 300), OffsetAndTime(25, 400)]


@pytest.mark.parametrize(
    ("timestamp", "most", "high_watermark", "expected"),
    [
        (-1, 1, None, [25]),
        (-1, 9, None, [25, 20, 10, 0]),
        (-2, 9, None, [0]),
        (99, 9, None, []),
        (100, 9, None, [0]),
        (299, 1, None, [10]),
        (-1, 1, 22, [22]),
        (-1, 3, 15, [15, 10]),
        (-1, 3, 25, [25, 20, 10]),
        (-1, 0, 22, []),
        (-1, -1, None, []),
    ],
)
def test_offsets_are_those_of_segments_written_before_the_time(timestamp, most, high_watermark, expected):
    assert offsets_before(ROWS, timestamp, most, high_watermark) == expected


def as_kafka_does(rows, timestamp, most, high_watermark):
    """``Log.legacyFetchOffsetsBefore``, line by line."""
    index = {-1: len(rows) - 1, -2: 0}.get(timestamp)
    if index is None:
        index = len(rows) - 1
        while index >= 0 and rows[index].modified_ms > timestamp:
            index -= 1
    found = []
    for _ in range(min(most, index + 1)):
        found.append(rows[index].offset)
        index -= 1
    found.sort(reverse=True)
    if high_watermark is not None and [offset for offset in found if offset > high_watermark]:
        return [high_watermark] + [offset for offset in found if offset <= high_watermark]
    return found


@given(
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), min_size=1),
    st.integers(-2, 31),
    st.integers(0, 8),
    st.none() | st.integers(0, 31),
)
def test_they_are_those_of_kafka(pairs, timestamp, most, high_watermark):
    offsets = sorted(offset for offset, _ in pairs)
    rows = [OffsetAndTime(offset, time) for offset, (_, time) in zip(offsets, pairs, strict=True)]
    assert offsets_before(rows, timestamp, most, high_watermark) == as_kafka_does(
        rows, timestamp, most, high_watermark
    )
