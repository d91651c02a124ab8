"""Intervals of time that are looked up by a moment, without a look at each of them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from datetime import datetime, timedelta
from itertools import accumulate
from typing import Generic, TypeVar

T = TypeVar("T")

_ZERO = timedelta(0)


class Intervals(Generic[T]):
    """Intervals of time, each with what it is the time of.

    Args:
        spans: The begin and the end of each interval, and what it is the time of. An end of None is later
            than every moment.
    """

    def __init__(self, spans: Iterable[tuple[datetime, datetime | None, T]]) -> None:
        ends = ((begin, datetime.max if end is None else end, of) for begin, end, of in spans)  # noqa: DTZ901
        self._spans = sorted(ends, key=lambda span: span[0])
        self._begins = [begin for begin, _, _ in self._spans]
        # Ends have no order. The latest end up to each interval has one, so it can be searched.
        self._latest_ends = list(accumulate((end for _, end, _ in self._spans), max))

    def near(self, time: datetime, before: timedelta = _ZERO, after: timedelta = _ZERO) -> list[T]:
        """Return what intervals with a moment are the times of, by their begins.

        Args:
            time: The moment.
            before: The longest time by which the moment may lie before the begin.
            after: The longest time by which the moment may lie after the end.
        """
        # Differences are compared, because sums may lie outside of the times that Python knows.
        first = bisect_left(self._latest_ends, -after, key=lambda end: end - time)
        last = bisect_right(self._begins, before, key=lambda begin: begin - time)
        return [of for _, end, of in self._spans[first:last] if time - end <= after]
