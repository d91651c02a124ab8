"""Periods in which partitions had fewer replicas in sync than assigned, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Minimums
from barnabas.analysis.story.partitions import History, Life
from barnabas.analysis.story.rows import BrokerLine

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
        differs: Whether it is not known because lines give several values.
        proof: The first line which shows that writes to that partition were refused; None if none does.
        lines: The lines that give ``minimum``.
        is_begun: Whether a line shows of each partition when it lost its first replica.
    """

    partitions: int
    worst: str
    steps: tuple[IsrStep, ...]
    minimum: int | None
    is_default: bool = False
    differs: bool = False
    proof: BrokerLine | None = None
    lines: Lines = ()
    is_begun: bool = True

    @property
    def refusing(self) -> tuple[IsrStep, ...]:
        """Return the ISRs that refused writes with acks=all, if only by the brokers' setting."""
        known = None if self.proof is None or self.proof.in_sync is None else self.proof.in_sync + 1
        minimum = self.minimum if self.minimum is not None else known
        return tuple(step for step in self.steps if minimum is not None and step.size < minimum)

    @property
    def refused(self) -> timedelta:
        """Return how long writes with acks=all were refused at least, by any setting known."""
        held = (
            step.until - step.since for step in self.refusing if step.is_certain and step.until is not None
        )
        return sum(held, timedelta(0))

    @property
    def is_proven(self) -> bool:
        """Return whether lines prove that writes were refused, which the brokers' setting alone does not."""
        return bool(self.refusing) and (self.proof is not None or not self.is_default)


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
    """Describe the worst of several periods.

    One in which writes were refused is worse than any in which none is known to have been.
    """
    story, steps = min(periods, key=lambda each: (_is_accepted(each, minimums), _badness(each)))
    topic, partition, _ = story.life
    since, until = steps[0].since, steps[-1].until
    minimum = minimums.held(topic, since, until)
    return Shortage(
        len({each.life for each, _ in periods}),
        f"{topic}-{partition}",
        tuple(steps),
        minimum.value,
        is_default=minimum.is_default,
        differs=minimum.differs,
        proof=minimums.proof(story.life, since, until),
        lines=minimum.lines,
        is_begun=all(own[0].is_begun for _, own in periods),
    )


def _is_accepted(period: Period, minimums: Minimums) -> bool:
    """Return whether no line or setting shows that writes were refused in a period."""
    story, steps = period
    since, until = steps[0].since, steps[-1].until
    value = minimums.held(story.life[0], since, until).value
    is_below = value is not None and any(step.size < value for step in steps)
    return not is_below and minimums.proof(story.life, since, until) is None


def _badness(period: Period) -> tuple[int, bool, timedelta, datetime, Life]:
    """Order periods with the fewest replicas in sync first, of these those that last the longest.

    One that no line ends lasts the longest; of several of these, the one that began first.
    """
    story, steps = period
    since, until = steps[0].since, steps[-1].until
    lasted = timedelta(0) if until is None else until - since
    return min(step.size for step in steps), until is not None, -lasted, since, story.life
