"""The comparison of claimed moments and durations with spans that were measured. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Instant, earliest, latest
from barnabas.bench.truth.scenarios import BROKERS, SILENT
from barnabas.bench.truth.truths import Span, Truth

ROUNDING = timedelta(milliseconds=2)
"""Logs and ZooKeeper cut their times to milliseconds."""

WRITTEN = timedelta(seconds=2)
"""The longest time from a change to the line about it, on a busy machine."""


def contains(claimed: Instant, true: Span) -> bool:
    """Return whether a moment that the measurement allows lies in the claimed interval."""
    low, high = earliest(claimed), latest(claimed)
    return (low is None or low <= true.high + ROUNDING) and (high is None or true.low - ROUNDING <= high)


def holds(claimed: Duration, least: timedelta, most: timedelta | None) -> bool:
    """Return whether a duration that was measured lies in the claimed interval; ``None`` never ends."""
    match claimed:
        case Fact(value=value):
            low: timedelta | None = value
            high: timedelta | None = value
        case Bound(at_least=low, at_most=high):
            pass
        case _:
            return True
    is_above = high is None or (most is not None and least - ROUNDING <= high)
    return is_above and (low is None or most is None or low <= most + ROUNDING)


def is_within(time: datetime, span: Span) -> bool:
    """Return whether a moment that a line gives lies in a span."""
    return span.low - ROUNDING <= time <= span.high + ROUNDING


def late(time: datetime, truth: Truth) -> timedelta:
    """Return the longest time from a change to the line about it.

    A broker that is silent at the change, or before it has written, writes about it when it goes on.
    """
    silences = (
        each.returned.high - time
        for each in truth.departures
        if each.action in SILENT and each.returned is not None
        and each.gone.low <= time + WRITTEN and time <= each.returned.high
    )  # fmt: skip
    return WRITTEN + max(silences, default=timedelta(0))


def gone_at(truth: Truth, time: datetime) -> set[int]:
    """Return the brokers that were not there at a moment, or perhaps not."""
    return {
        each.broker
        for each in truth.departures
        if each.gone.low <= time and (each.returned is None or time <= each.returned.high)
    }


def all_gone(truth: Truth, time: datetime) -> bool:
    """Return whether no broker was there at a moment."""
    return gone_at(truth, time) >= set(BROKERS)


def said(instant: Instant) -> str:
    """Return the text of a claimed moment."""
    return f"[{earliest(instant)}, {latest(instant)}]"


def spans(measured: Sequence[Span]) -> str:
    """Return the text of spans that were measured."""
    return ", ".join(f"[{each.low}, {each.high}]" for each in measured) or "never"


def lasted(claimed: Duration) -> str:
    """Return the text of a claimed duration."""
    match claimed:
        case Fact(value=value):
            return f"for {value}"
        case Bound(at_least=low, at_most=high):
            return f"for [{low}, {high}]"
    return "for an unknown time"
