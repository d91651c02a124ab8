"""The cost of an incident: partitions without a leader, grouped by how they got one again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Lines, Unknown, earliest, latest
from barnabas.analysis.story.clocks import DIFFERING, duration_of
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import BrokerLine, Refusal

Reason = BrokerLine | Refusal
"""A line which says why partitions had no leader though no broker left."""


class Ending(StrEnum):
    """The ways in which partitions got a leader again."""

    MOVED = "moved"
    ELECTED = "elected"
    """Another broker was elected; no line shows that it led."""
    RETURNED = "returned"
    ELECTED_AGAIN = "elected again"
    """The same broker was elected; no line shows that it led."""
    DELETED = "deleted"
    LASTING = "lasting"
    """No leader when the logs end, as far as they show."""
    NOT_SHOWN = "not shown"


class Period(NamedTuple):
    """A time in which one partition had no leader.

    Attributes:
        name: The partition's name.
        duration: How long it had none.
        begin: The latest moment by which it had lost its leader.
        since: Until when it surely had its leader; None if no line shows that.
        shown: As in ``Outage``.
        leader_before: As in ``Outage``.
        leader_after: As in ``Outage``.
    """

    name: str
    duration: Duration
    begin: datetime | None
    since: datetime | None = None
    shown: datetime | None = None
    leader_before: int | None = None
    leader_after: int | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """Partitions that had no leader and got one in the same way.

    Attributes:
        partitions: Their names, sorted.
        duration: How long each of them had no leader.
        ending: How they got a leader.
        leaders: The brokers that led them afterwards, or were elected.
        failed: The number of failed elections.
        begin: The latest moment by which the first of them had lost its leader.
        lines: Lines that prove it, of one partition.
        times: How often they had no leader, in total.
        reason: The line about the log directory because of which a broker that stayed did not lead them; None
            if a broker left, or no line shows why.
        each: The times without a leader one by one.
        lasting: When the logs end, if as far as they show the partitions have no leader then; None otherwise.
    """

    partitions: tuple[str, ...]
    duration: Duration
    ending: Ending
    leaders: tuple[int, ...]
    failed: int
    begin: datetime | None
    lines: Lines
    times: int = 1
    reason: Reason | None = None
    each: tuple[Period, ...] = ()
    lasting: datetime | None = None


def costs_of(outages: Iterable[tuple[int | None, Outage]]) -> tuple[Cost, ...]:
    """Group outages by how they ended, those first that last at the end of the logs, then the longest.

    Args:
        outages: The outages, each with the broker that led before; None if it is not known.
    """
    grouped: dict[Ending, list[Outage]] = {}
    for broker, outage in outages:
        grouped.setdefault(_ending(broker, outage), []).append(outage)
    costs = [_cost(ending, each) for ending, each in grouped.items()]
    return tuple(sorted(costs, key=worst_first))


def worst_first(cost: Cost) -> tuple[bool, timedelta, tuple[str, ...]]:
    """Order costs: what lasts at the end of the logs first, then the longest."""
    return cost.lasting is None, -least(cost.duration), cost.partitions


def _ending(broker: int | None, outage: Outage) -> Ending:
    if outage.deleted:
        return Ending.DELETED
    if outage.leader_after is None:
        return Ending.NOT_SHOWN if outage.lasting is None else Ending.LASTING
    has_led = latest(outage.end) is not None
    if outage.leader_after == broker:
        return Ending.RETURNED if has_led else Ending.ELECTED_AGAIN
    return Ending.MOVED if has_led else Ending.ELECTED


def _cost(ending: Ending, outages: Sequence[Outage]) -> Cost:
    durations = [duration_of(each) for each in outages]
    worst = max(range(len(outages)), key=lambda index: least(durations[index]))
    names = [f"{each.life[0]}-{each.life[1]}" for each in outages]
    begins = [latest(each.begin) for each in outages]
    return Cost(
        partitions=tuple(sorted(set(names))),
        duration=_together(durations, is_mixed=any(each.is_mixed for each in outages)),
        ending=ending,
        leaders=tuple(sorted({each.leader_after for each in outages if each.leader_after is not None})),
        failed=sum(each.failed for each in outages),
        begin=min((begin for begin in begins if begin is not None), default=None),
        lines=tuple(dict.fromkeys((*outages[worst].lines, *durations[worst].lines))),
        times=len(outages),
        each=tuple(map(_period, outages, durations)),
        lasting=max((each.lasting for each in outages if each.lasting is not None), default=None),
    )


def _period(outage: Outage, duration: Duration) -> Period:
    topic, partition, _ = outage.life
    # Clocks that differ bound nothing.
    since = None if outage.is_mixed else earliest(outage.begin)
    return Period(
        f"{topic}-{partition}", duration, latest(outage.begin), since, outage.shown, outage.leader_before,
        outage.leader_after,
    )  # fmt: skip


def _together(durations: Sequence[Duration], *, is_mixed: bool) -> Duration:
    """Return a duration that holds for each of several partitions.

    Args:
        durations: The duration of each.
        is_mixed: Whether moments of clocks that differ bound some of them.
    """
    lines = tuple(line for each in durations[:1] for line in each.lines)
    if all(isinstance(each, Unknown) for each in durations):
        return Unknown(DIFFERING if is_mixed else "the logs do not show when it ended", lines)
    if len(set(map(least, durations))) == 1 and all(isinstance(each, Fact) for each in durations):
        return durations[0]
    most = [greatest(each) for each in durations]
    at_most = None if None in most else max(each for each in most if each is not None)
    at_least = min(least(each) for each in durations)
    if not at_least and at_most is None:
        return Unknown("the logs do not show when all of them ended", lines)
    return Bound(at_least or None, at_most, lines)


def greatest(duration: Duration) -> timedelta | None:
    """Return the most that a duration may be; None if nothing bounds it from above."""
    if isinstance(duration, Fact):
        return duration.value
    return duration.at_most if isinstance(duration, Bound) else None


def least(duration: Duration) -> timedelta:
    """Return the proven part of a duration."""
    if isinstance(duration, Fact):
        return duration.value
    known = duration.at_least if isinstance(duration, Bound) else None
    return timedelta(0) if known is None else known
