from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.broker.cleaning.core.choice import (
    CompactedLog,
    LogToClean,
    SegmentSize,
    delete_horizon_ms,
    dirty_section,
    filthiest,
    groups,
    log_to_clean,
)
from barnabas.broker.core.records.log_config import LogConfig

CONFIG = LogConfig(cleanup_policy=frozenset({"compact"}))
NOW = 1_000_000


@dataclass
class Segment:
    base_offset: int
    size: int = 100
    largest_timestamp: int = 10
    first_timestamp: int = 10


def log(*segments, config=CONFIG, start=0, end=50, stable=50):
    return CompactedLog("t-0", segments, start, end, stable, config)


FIVE = tuple(Segment(base) for base in (0, 10, 20, 30, 40))


def test_a_log_without_a_checkpoint_is_dirty_from_its_start():
    assert dirty_section(log(*FIVE, start=7), None) == (7, False, None)
    assert dirty_section(log(*FIVE, start=7), 9) == (9, False, None)


def test_a_checkpoint_that_cannot_be_right_is_reset():
    low = dirty_section(log(*FIVE, start=7), 5)
    assert (low.offset, low.is_reset) == (7, True)
    assert low.warning == (
        "Resetting first dirty offset of t-0 to log start offset 7 since the checkpointed offset 5 "
        "is invalid."
    )
    both = replace(CONFIG, cleanup_policy=frozenset({"compact", "delete"}))
    assert dirty_section(log(*FIVE, start=7, config=both), 5) == (7, True, None)
    high = dirty_section(log(*FIVE, start=7, config=both), 51)
    assert (high.offset, high.is_reset) == (7, True)
    assert "is 51, which is larger than the log end offset 50" in high.warning


@pytest.mark.parametrize(
    ("given", "first_dirty", "expected"),
    [
        (log(*FIVE), 0, LogToClean(0, 40, 0, 400, 0)),
        (log(*FIVE), 20, LogToClean(20, 40, 200, 200, 0)),
        # The segment in which the dirty section begins counts whole on both sides.
        (log(*FIVE), 25, LogToClean(25, 40, 300, 200, 0)),
        (log(*FIVE), 40, LogToClean(40, 40, 400, 0, 0)),
        (log(*FIVE), 45, LogToClean(45, 40, 500, 0, 0)),
        # The end is that of a whole segment.
        (log(*FIVE, stable=35), 0, LogToClean(0, 30, 0, 300, 0)),
        (log(*FIVE, stable=5), 20, LogToClean(20, 20, 200, 0, 0)),
        (log(Segment(40)), 40, LogToClean(40, 40, 0, 0, 0)),
        # The active segment is empty: the one before it has the last offset.
        (log(*FIVE[:4], Segment(40, size=0)), 0, LogToClean(0, 30, 0, 300, 0)),
        (log(Segment(0, size=0)), 0, LogToClean(0, 0, 0, 0, 0)),
        # A log start inside the first segment that is left.
        (log(*FIVE[1:], start=12), 5, LogToClean(5, 40, 0, 300, 0)),
    ],
)
def test_how_much_may_be_cleaned(given, first_dirty, expected):
    assert log_to_clean(given, first_dirty, NOW) == expected


def test_young_segments_wait():
    config = replace(CONFIG, min_compaction_lag_ms=1000)
    segments = [Segment(base, largest_timestamp=NOW - 1500 + base * 30) for base in (0, 10, 20, 30, 40)]
    assert log_to_clean(log(*segments, config=config), 0, NOW).end_offset == 20
    old = [Segment(base, largest_timestamp=NOW - 1000) for base in (0, 10)]
    assert log_to_clean(log(*old, Segment(40), config=config), 0, NOW).end_offset == 40


def test_old_segments_may_not_wait():
    config = replace(CONFIG, max_compaction_lag_ms=1000)
    segments = [
        Segment(base, first_timestamp=time) for base, time in ((0, 5), (10, -1), (20, 0), (30, 900_000))
    ]
    given = log(*segments, Segment(40), config=config)
    assert log_to_clean(given, 0, NOW).compaction_delay_ms == NOW - 1000 - 5
    assert log_to_clean(given, 10, NOW).compaction_delay_ms == NOW - 1000 - 900_000
    assert log_to_clean(given, 10, 900_500).compaction_delay_ms == 0
    assert log_to_clean(given, 40, NOW).compaction_delay_ms == 0
    never = log(*segments, Segment(40))
    assert log_to_clean(never, 0, NOW).compaction_delay_ms == 0


def test_the_filthiest_log_is_cleaned_next():
    def due(clean, cleanable, delay=0):
        return LogToClean(0, 10, clean, cleanable, delay), CONFIG

    assert filthiest({}) is None
    assert filthiest({"half": due(50, 50), "nothing": due(0, 0, delay=5)}) is None
    assert filthiest({"half": due(50, 50), "more": due(40, 60), "most": due(0, 1)}) == "most"
    assert filthiest({"late": due(99, 1, delay=5), "half": due(50, 50)}) == "late"
    assert LogToClean(0, 0, 0, 0, 0).ratio == 0


SIZES = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 40), st.integers(0, 40)), max_size=12)


@given(SIZES)
def test_neighbours_that_fit_become_one_segment(sizes):
    segments = [
        SegmentSize(index * 10, index * 10 + 10, size, index_size, time_size, 0)
        for index, (size, index_size, time_size) in enumerate(sizes)
    ]
    made = groups(segments, 100, 30)
    assert [segment for group in made for segment in group] == segments

    def fits(group):
        return all(sum(each[at] for each in group) <= most for at, most in ((2, 100), (3, 30), (4, 30)))

    assert all(len(group) == 1 or fits(group) for group in made)
    assert not any(fits((*group, after[0])) for group, after in pairwise(made))


def test_the_offsets_of_a_segment_fit_into_four_bytes():
    segments = [SegmentSize(0, 2**31 - 1, 1, 0, 0, 0), SegmentSize(2**31 - 1, 2**31 + 1, 1, 0, 0, 0)]
    assert len(groups(segments, 100, 100)) == 2
    assert len(groups([segments[0], segments[1]._replace(end_offset=2**31)], 100, 100)) == 1


def test_tombstones_go_by_the_age_of_the_clean_section():
    segments = [SegmentSize(0, 10, 1, 0, 0, 500), SegmentSize(10, 20, 1, 0, 0, 900)]
    assert delete_horizon_ms(segments, 20, 300) == 600
    assert delete_horizon_ms(segments, 10, 300) == 200
    assert delete_horizon_ms(segments, 0, 300) == 0


def test_a_segment_of_a_compacted_log_is_rolled_in_time():
    assert LogConfig(max_compaction_lag_ms=5).max_segment_ms == LogConfig().segment_ms
    assert replace(CONFIG, max_compaction_lag_ms=5).max_segment_ms == 5
