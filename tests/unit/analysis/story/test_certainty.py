"""Facts, bounds and unknowns: their arithmetic, and that no two of them read alike."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.analysis.story.certainty import (
    Bound,
    Duration,
    Fact,
    Instant,
    Line,
    Lines,
    Unknown,
    as_timed,
    between,
    by,
    earliest,
    latest,
    moment,
)
from barnabas.analysis.story.words import Rounding, at, duration, lasted

TEN = datetime(2026, 11, 21, 10)  # noqa: DTZ001  (the logs' times have no zone)
SECOND = timedelta(seconds=1)


def instants(true: datetime) -> st.SearchStrategy[Instant]:
    """What lines may say of a moment."""
    span = st.timedeltas(timedelta(0), timedelta(minutes=1))
    low, high = st.none() | span.map(lambda by: true - by), st.none() | span.map(lambda by: true + by)
    return st.just(Fact(true)) | st.builds(lambda a, b: moment(a, b, (), "unknown"), low, high)


@given(st.data(), st.timedeltas(timedelta(0), timedelta(hours=1)))
def test_a_span_between_two_moments_holds_the_true_one(data: st.DataObject, true: timedelta) -> None:
    begin, end = data.draw(instants(TEN)), data.draw(instants(TEN + true))
    match between(begin, end):
        case Fact(value=value):
            assert value == true
        case Bound(at_least=low, at_most=high):
            assert (low or timedelta(0)) <= true
            assert high is None or true <= high


def any_instants() -> st.SearchStrategy[Instant]:
    """Any moments, each from lines of some clock."""
    times = st.none() | st.timedeltas(timedelta(0), timedelta(seconds=3)).map(lambda by: TEN + by)
    return st.builds(lambda low, high: moment(low, high, (), "unknown"), times, times)


@given(any_instants(), any_instants())
def test_no_bounds_of_any_clocks_contradict_each_other(begin: Instant, end: Instant) -> None:
    for instant in (begin, end):
        low, high = earliest(instant), latest(instant)
        assert low is None or high is None or low <= high
    span = between(begin, end)
    last, first = latest(end), earliest(begin)
    if last is not None and first is not None and last < first:
        assert isinstance(span, Unknown)
    match span:
        case Fact(value=value):
            assert value >= timedelta(0)
        case Bound(at_least=least, at_most=most):
            assert timedelta(0) <= (least or timedelta(0)) <= (timedelta.max if most is None else most)


def test_an_end_before_its_begin_gives_no_span() -> None:
    late, early = TEN + SECOND, TEN
    for begin, end in [(Fact(late), Fact(early)), (Bound(late, None), Fact(early))]:
        assert isinstance(between(begin, end), Unknown)


def test_clocks_that_contradict_each_other_leave_the_later_end() -> None:
    assert moment(TEN + SECOND, TEN, (), "") == Bound(None, TEN)
    assert moment(None, None, (), "nothing") == Unknown("nothing")


@pytest.mark.parametrize(
    ("instant", "said"),
    [
        (Fact(TEN), "at 10:00:00.000"),
        (Bound(None, TEN), "at 10:00:00.000 or before"),
        (Bound(TEN, None), "after 10:00:00.000"),
        (Bound(TEN, TEN + SECOND), "between 10:00:00.000 and 10:00:01.000"),
        (Unknown("no line"), "at an unknown time"),
    ],
)
def test_each_certainty_of_a_moment_has_its_words(instant: Instant, said: str) -> None:
    assert at(instant, TEN.date()) == said


@pytest.mark.parametrize(
    ("span", "said"),
    [
        (Fact(SECOND), "for 1.0 s"),
        (Fact(0 * SECOND), "for less than 1 ms"),
        (Bound(None, 0 * SECOND), "for less than 1 ms"),
        (Bound(None, SECOND), "for at most 1.0 s"),
        (Bound(SECOND, None), "for at least 1.0 s"),
        (Bound(SECOND, 2 * SECOND), "for at least 1.0 s and at most 2.0 s"),
        (Unknown("no line"), "for an unknown time"),
    ],
)
def test_each_certainty_of_a_span_has_its_words(span: Duration, said: str) -> None:
    assert lasted(span) == said


@pytest.mark.parametrize(
    ("ms", "said"),
    [
        (0, "0 ms"), (999, "999 ms"), (59_949, "59.9 s"), (59_960, "1 min 0 s"), (2_279_700, "38 min 0 s"),
        (3_599_999, "1 h 0 min"), (11_100_000, "3 h 5 min"), (200_000_000, "2.3 days"),
    ],
)  # fmt: skip
def test_no_span_has_sixty_seconds(ms: int, said: str) -> None:
    assert duration(timedelta(milliseconds=ms)) == said


def test_a_bound_is_rounded_outwards() -> None:
    span = timedelta(seconds=3.95)
    assert [duration(span, way) for way in (Rounding.DOWN, Rounding.UP)] == ["3.9 s", "4.0 s"]


def test_what_happened_has_a_latest_moment() -> None:
    assert by(Fact(TEN)) == by(Bound(None, TEN)) == TEN
    for open_end in (Bound(TEN, None), Unknown("no line")):
        with pytest.raises(ValueError, match="no latest moment"):
            by(open_end)


SECONDS = Line("kafka-1.log", 0, 1, "2026-03-05 10:00:00 INFO  [main] Partition:66 - x took 10:00:00,123")
MILLIS = Line("server.log", 0, 1, "[2026-03-05 10:00:00,000] INFO at 10:00:00 (x)")


@pytest.mark.parametrize(
    ("span", "lines", "expected"),
    [
        (Fact(timedelta(seconds=9)), (MILLIS,), Fact(timedelta(seconds=9))),
        (
            Fact(timedelta(seconds=9)), (MILLIS, SECONDS),
            Bound(timedelta(seconds=8), timedelta(seconds=10), (SECONDS,)),
        ),
        (Bound(None, timedelta(seconds=9)), (SECONDS,), Bound(None, timedelta(seconds=10), (SECONDS,))),
        (
            Bound(timedelta(seconds=2), None), (SECONDS,),
            Bound(timedelta(seconds=1), None, (SECONDS,)),
        ),
        (Bound(timedelta(seconds=1), None), (SECONDS,), Unknown("the times of the lines are whole seconds")),
        (Unknown("why"), (SECONDS,), Unknown("why")),
    ],
)  # fmt: skip
def test_times_in_whole_seconds_widen_a_span(span: Duration, lines: Lines, expected: Duration) -> None:
    found = as_timed(span, lines)
    assert replace(found, lines=()) == replace(expected, lines=())
