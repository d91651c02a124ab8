"""Periods in which partitions had fewer replicas in sync than assigned, step by step."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Line, Lines
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.observed import CLOCKS, BrokerLine, Observed
from barnabas.analysis.story.partitions import History

Period = tuple[History, list[IsrStep]]
"""A partition's ISRs from the first that is short of a replica to the last, and its history."""


@dataclass(frozen=True, slots=True)
class Shortage:
    """Partitions with fewer replicas in sync than assigned.

    Attributes:
        partitions: The number of partitions.
        worst: The one with the fewest replicas in sync for the longest time.
        steps: That partition's ISRs, as far as they were short.
        minimum: min.insync.replicas of that partition's topic; None if it is not known.
        is_default: Whether that is the brokers' setting, which the topic may override unseen.
        refusal: The first line of a broker that refused a write to that partition meanwhile; None if none is
            logged.
        lines: The lines that give ``minimum``.
        is_begun: Whether a line shows of each partition when it lost its first replica.
    """

    partitions: int
    worst: str
    steps: tuple[IsrStep, ...]
    minimum: int | None
    is_default: bool = False
    refusal: BrokerLine | None = None
    lines: Lines = ()
    is_begun: bool = True


@dataclass(frozen=True, slots=True)
class Minimums:
    """The values of min.insync.replicas in the lines.

    Attributes:
        default: The brokers' setting; None if no line gives it or brokers differ.
        topics: The topics' own settings; None where lines differ.
        refusals: The lines of brokers that refused a write, by partition and time.
        lines: The latest line about the setting of each topic; under None, about the brokers' setting.
    """

    default: int | None
    topics: Mapping[str, int | None]
    refusals: Mapping[tuple[str, int], Sequence[BrokerLine]] = field(default_factory=dict)
    lines: Mapping[str | None, Line] = field(default_factory=dict)

    def of(self, topic: str) -> int | None:
        """Return the setting that holds for a topic; None if it is not known."""
        return self.topics.get(topic, self.default)


_NAME = "min.insync.replicas="


def minimums_of(observed: Observed) -> Minimums:
    """Return min.insync.replicas of the brokers and of the topics that lines name.

    A line about a topic lists all settings that the topic overrides; an empty value stands for the brokers'
    setting. What an operator has printed by a tool counts like a line.
    """
    default: set[str] = set()
    topics: dict[str, set[str]] = {}
    said: dict[str | None, Line] = {}
    refusals: dict[tuple[str, int], list[BrokerLine]] = {}
    for line in observed.brokers:
        if line.kind == BrokerKind.WRITES_REFUSED and line.topic is not None:
            if line.partition is not None:
                refusals.setdefault((line.topic, line.partition), []).append(line)
            topics.setdefault(line.topic, set()).add(str(line.minimum))
            said[line.topic] = line.line
        for setting in line.settings if line.kind == BrokerKind.CONFIGURED else ():
            if setting.startswith(_NAME):
                values = default if line.topic is None else topics.setdefault(line.topic, set())
                values.add(setting.removeprefix(_NAME))
                said[line.topic] = line.line
    for own in observed.settings:
        if f"{own.name}=" == _NAME:
            topics.setdefault(own.topic, set()).add(own.value)
            said[own.topic] = own.line
    common = _only(default) if observed.min_insync is None else observed.min_insync
    return Minimums(
        common,
        {topic: common if values == {""} else _only(values) for topic, values in topics.items()},
        {partition: sorted(lines, key=_time) for partition, lines in refusals.items()},
        said,
    )


def _only(values: Collection[str]) -> int | None:
    """Return the only value; None if there are several, or it is no number."""
    value = next(iter(values)) if len(values) == 1 else ""
    return int(value) if value.isdigit() else None


def short_periods(story: History) -> list[Period]:
    """Return the periods in which a partition was under-replicated."""
    periods: list[Period] = []
    is_short = False
    for step in story.isr:
        if step.size >= step.assigned:
            is_short = False
        elif is_short:
            periods[-1][1].append(step)
        else:
            periods.append((story, [step]))
            is_short = True
    return periods


def shortage_of(periods: Sequence[Period], minimums: Minimums) -> Shortage:
    """Describe the worst of several periods."""
    story, steps = min(
        periods, key=lambda each: (min(step.size for step in each[1]), -_length(each[1]), each[0].life)
    )
    names = {each.life for each, _ in periods}
    topic, partition, _ = story.life
    return Shortage(
        len(names),
        f"{topic}-{partition}",
        tuple(steps),
        minimums.of(topic),
        is_default=topic not in minimums.topics,
        refusal=_refusal(steps, minimums.refusals.get((topic, partition), ())),
        lines=tuple(line for name in (topic, None) if (line := minimums.lines.get(name)) is not None)[:1],
        is_begun=all(own[0].is_begun for _, own in periods),
    )


def refused(shortage: Shortage) -> timedelta:
    """Return how long writes with acks=all were refused, as far as it is proven.

    The brokers' setting alone proves nothing, because the topic may have its own one.
    """
    minimum = shortage.minimum
    if minimum is None or (shortage.is_default and shortage.refusal is None):
        return timedelta(0)
    short = (
        step.until - step.since
        for step in shortage.steps
        if step.size < minimum and step.is_certain and step.until is not None
    )
    return sum(short, timedelta(0))


def _refusal(steps: Sequence[IsrStep], refusals: Sequence[BrokerLine]) -> BrokerLine | None:
    """Return the first of a partition's lines about refused writes that is of a period."""
    first = bisect_left(refusals, steps[0].since - CLOCKS, key=_time)
    until = steps[-1].until
    if first == len(refusals) or (until is not None and refusals[first].time > until + CLOCKS):
        return None
    return refusals[first]


def _time(line: BrokerLine) -> datetime:
    return line.time


def _length(steps: Sequence[IsrStep]) -> timedelta:
    return sum((each.until - each.since for each in steps if each.until is not None), timedelta(0))
