"""Records of a metadata log whose times fall where another controller follows, though their offsets rise.

The offsets prove the order, and so that the clock of the next controller is behind. If records are all there
is, the story is made from times that rise with the offsets: those of the next controller plus the least by
which its clock is behind. A span across the change is at least that long. The story gives each moment as its
record has it.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import fields, is_dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any, NamedTuple, TypeVar

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Line, Lines, Unknown
from barnabas.analysis.story.clocks import BEHIND, DIFFERING, Difference
from barnabas.analysis.story.costs import Cost, least
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import RECORD, State

T = TypeVar("T")

_AFTER = timedelta(microseconds=1)
"""The time from the last record of a controller to the first one of a next one whose clock is behind."""

_SHOWN = timedelta(milliseconds=1)
"""The least span that a sentence can give."""


class Tenure(NamedTuple):
    """The records of a controller epoch.

    Attributes:
        controller: The controller; None if no record names it.
        number: The number of its first record's line, which rises with the offset.
        since: The time that its first record gets.
        behind: What is added to the times of its records: the least by which its clock is behind those of
            controllers before it; 0 if no record shows that it is.
    """

    controller: int | None
    number: int
    since: datetime
    behind: timedelta


def tenures_of(observed: Observed) -> list[Tenure]:
    """Return the controller epochs by offset if times contradict the offsets; nothing if they do not.

    Nor is anything returned if brokers' own logs, which have other clocks, or several metadata logs are read.
    """
    if observed.spoken:
        return []
    lines = [(each.line, each.controller_epoch, each.time) for each in observed.brokers]
    lines.extend((each.line, each.controller_epoch, each.first_logged) for each in observed.states)
    numbers: dict[int, int] = {}
    for line, epoch, _ in lines:
        if epoch is not None:
            numbers[epoch] = min(line.number, numbers.get(epoch, line.number))
    are_records = all(line.text.startswith(RECORD) for line, epoch, _ in lines if epoch is not None)
    is_one_log = are_records and len({line.source for line, _, _ in lines}) == 1
    if not is_one_log or not numbers or sorted(numbers) != sorted(numbers, key=numbers.__getitem__):
        return []
    starts = sorted(numbers.values())
    times: list[list[tuple[int, datetime]]] = [[] for _ in starts]
    for line, _, time in lines:
        # Not all states have the epoch of their record.
        times[max(bisect_right(starts, line.number) - 1, 0)].append((line.number, time))
    controllers = {each.epoch: each.broker for each in observed.controllers}
    tenures: list[Tenure] = []
    last: datetime | None = None
    for epoch, number, own in zip(sorted(numbers), starts, times, strict=True):
        (_, first), (_, final) = min(own), max(own)
        is_behind = last is not None and first + BEHIND < last
        behind = last + _AFTER - first if last is not None and is_behind else timedelta(0)
        tenures.append(Tenure(controllers.get(epoch), number, first + behind, behind))
        last = final + behind
    is_rising = all(one.since <= other.since for one, other in pairwise(tenures))
    return tenures if is_rising and any(each.behind for each in tenures) else []


def by_offsets(observed: Observed, tenures: Sequence[Tenure]) -> Observed:
    """Return the records with times that rise with their offsets."""
    starts = [each.number for each in tenures]

    def behind(lines: Lines) -> timedelta:
        return tenures[max(bisect_right(starts, lines[0].number) - 1, 0)].behind if lines else timedelta(0)

    brokers = (line._replace(time=line.time + behind((line.line,))) for line in observed.brokers)
    controllers = (each._replace(since=each.since + behind(each.lines)) for each in observed.controllers)
    return replace(
        observed,
        brokers=sorted(brokers, key=lambda line: line.time),
        states=[_later(state, behind((state.line,))) for state in observed.states],
        controllers=sorted(controllers, key=lambda each: (each.since, each.epoch)),
    )


def _later(state: State, behind: timedelta) -> State:
    return state._replace(
        decided=None if state.decided is None else state.decided + behind,
        first_logged=state.first_logged + behind,
        changed=None if state.changed is None else state.changed + behind,
    )


def as_recorded(incident: Incident, tenures: Sequence[Tenure]) -> Incident:
    """Return an incident with the times of the records, and which clocks differ if it has times of both."""
    reading = _Recorded(tenures)
    found = reading.of(incident)
    differences = tuple(_differences(tenures, sorted(reading.seen)))
    return replace(found, differences=(*found.differences, *differences))


def _differences(tenures: Sequence[Tenure], seen: Sequence[int]) -> list[Difference]:
    found = []
    for one, other in pairwise(seen):
        before, after = tenures[one], tenures[other]
        by = after.behind - before.behind
        are_two = before.controller != after.controller
        if before.controller is not None and after.controller is not None and are_two and by > BEHIND:
            found.append(Difference(after.controller, before.controller, by, is_ahead=False, by_offsets=True))
    return found


class _Recorded:
    """The way back from times that rise with the offsets to those of the records.

    Attributes:
        seen: The indexes of the tenures of which lines were found.
    """

    def __init__(self, tenures: Sequence[Tenure]) -> None:
        self._tenures = tenures
        self._numbers = [each.number for each in tenures]
        self._starts = [each.since for each in tenures]
        self.seen: set[int] = set()

    def of(self, value: T) -> T:
        """Return a value with the times of the records in all its parts."""
        return self._of(value)  # type: ignore[no-any-return]

    def _of(self, value: Any) -> Any:
        if isinstance(value, datetime):
            return value - self._tenures[self._at(value)].behind
        if isinstance(value, Line):
            self.seen.add(self._by(value))
            return value
        if isinstance(value, IsrStep):
            return self._step(value)
        if isinstance(value, Bound) and self._is_of_two(value):
            # As elsewhere, only the later one of two moments of clocks that differ is kept.
            return self._of(Bound(None, value.at_most, value.lines))
        if isinstance(value, Fact | Bound) and _is_span(value):
            return self._span(self._parts(value), value.lines)
        found = self._parts(value)
        if isinstance(value, Cost):
            own = tuple(line for each in value.each for line in each.duration.lines)
            return replace(found, duration=self._span(found.duration, own))
        return found

    def _is_of_two(self, bound: Bound[Any]) -> bool:
        """Return whether the two ends of a moment are by clocks that differ."""
        low, high = bound.at_least, bound.at_most
        return isinstance(low, datetime) and isinstance(high, datetime) and self._at(low) != self._at(high)

    def _parts(self, value: Any) -> Any:
        if isinstance(value, tuple):
            parts = [self._of(each) for each in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if is_dataclass(value) and not isinstance(value, type):
            return replace(
                value, **{each.name: self._of(getattr(value, each.name)) for each in fields(value)}
            )
        return value

    def _step(self, step: IsrStep) -> IsrStep:
        """Return an ISR that held into the time of a controller whose clock differs as held at least so long.

        Its end then counts by the clock of its begin.
        """
        self.seen.add(self._by(step.line))
        behind = self._tenures[self._at(step.since)].behind
        since = step.since - behind
        if step.until is None:
            return step._replace(since=since)
        self.seen.add(self._at(step.until))
        change = self._tenures[self._at(step.until)].behind - behind
        until = step.until - behind
        if change > timedelta(0):
            return step._replace(since=since, until=until, is_longer=True)
        return step._replace(
            since=since, until=until, is_certain=step.is_certain and not change,
            is_begun=step.is_begun and not change,
        )  # fmt: skip

    def _span(self, span: Duration, lines: Lines) -> Duration:
        """Return what is known of a span between records of some lines."""
        known = [self._by(line) for line in lines]
        change = self._tenures[max(known)].behind - self._tenures[min(known)].behind if known else None
        if not change or isinstance(span, Unknown):
            return span
        if change < timedelta(0) or least(span) < _SHOWN:
            return Unknown(DIFFERING, span.lines)
        return Bound(least(span), None, span.lines)

    def _at(self, time: datetime) -> int:
        return max(bisect_right(self._starts, time) - 1, 0)

    def _by(self, line: Line) -> int:
        return max(bisect_right(self._numbers, line.number) - 1, 0)


def _is_span(value: Fact[Any] | Bound[Any]) -> bool:
    known = value.value if isinstance(value, Fact) else value.at_least or value.at_most
    return isinstance(known, timedelta)
