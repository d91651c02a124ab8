"""Intervals that are found by a moment, against a look at each of them."""

from __future__ import annotations

from datetime import datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.intervals import Intervals
from tests.unit.analysis.story.rows import at

SECONDS = st.integers(0, 20)


@given(st.lists(st.tuples(SECONDS, st.none() | SECONDS)), SECONDS, st.integers(0, 3), st.integers(0, 3))
def test_the_intervals_near_a_moment_are_found_by_their_begins(
    edges: list[tuple[int, int | None]], time: int, before: int, after: int
) -> None:
    spans = [(at(begin), None if end is None else at(end), index) for index, (begin, end) in enumerate(edges)]
    expected = [
        index
        for index, (begin, end) in sorted(enumerate(edges), key=lambda each: each[1][0])
        if begin - before <= time and (end is None or time <= end + after)
    ]
    found = Intervals(spans).near(at(time), timedelta(seconds=before), timedelta(seconds=after))
    assert found == expected


def test_the_first_and_the_last_moment_of_all_may_be_near() -> None:
    ever = Intervals([(datetime.min, None, "ever"), (datetime.max, datetime.max, "never")])  # noqa: DTZ901
    second = timedelta(seconds=1)
    assert ever.near(datetime.min, second, second) == ["ever"]  # noqa: DTZ901
    assert ever.near(datetime.max, second, second) == ["ever", "never"]  # noqa: DTZ901
