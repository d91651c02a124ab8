"""Periods in which partitions had fewer replicas in sync than assigned, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Held, Lack, Minimums
from barnabas.analysis.story.observed import CLOCKS
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
        refusal: The first line of a broker that refused a write to that partition meanwhile; None if none is
            logged.
        lines: The lines that give ``minimum``.
        is_begun: Whether a line shows of each partition when it lost its first replica.
        lack: Why ``minimum`` is not known; None if it is.
        is_of_others: Whether ``minimum`` is that of other brokers than the leader.
        held: The minimum of that partition's topic, one value after the other.
        mark: The first line of a leader that the ISR of that partition is under the minimum; None if there
            is none.
        removable: The brokers whose replicas left an ISR first, perhaps because a reassignment removed them.
        fallen: The brokers whose replicas left an ISR first, each with the leader of the partition.
        causes: The absences of other incidents because of which that partition's ISR got smaller, each with
            the index of the step.
    """

    partitions: int
    worst: str
    steps: tuple[IsrStep, ...]
    minimum: int | None
    is_default: bool = False
    refusal: BrokerLine | None = None
    lines: Lines = ()
    is_begun: bool = True
    lack: Lack | None = None
    is_of_others: bool = False
    held: tuple[Held, ...] = ()
    mark: BrokerLine | None = None
    removable: frozenset[int] = frozenset()
    fallen: frozenset[tuple[int, int]] = frozenset()
    causes: tuple[tuple[int, Absence], ...] = ()

    @property
    def is_sure(self) -> bool:
        """Return whether lines prove that ``minimum`` held in the whole time, and none contradicts it."""
        is_own = not (self.minimum is None or self.is_default or self.is_of_others or self.known_since)
        return is_own and (self.mark is None or (self.mark.in_sync or 0) < (self.minimum or 0))

    @property
    def known_since(self) -> datetime | None:
        """Return from when on ``minimum`` is known; None if it is from the begin on."""
        first = next((index for index, each in enumerate(self.held) if each.value is not None), 0)
        return self.held[first].since if first else None

    @property
    def changed(self) -> tuple[Held, ...]:
        """Return the minimums if records of a metadata log show from when to when each held; else nothing."""
        is_known = all(each.is_record and each.value is not None for each in self.held)
        is_alone = self.refusal is None and self.mark is None
        return self.held if self.lack is Lack.DIFFERENT and is_known and is_alone else ()


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
    story, steps = min(periods, key=lambda each: (_may_be_refused(each, minimums), _badness(each)))
    names = {each.life for each, _ in periods}
    topic, partition, _ = story.life
    held = minimums.held(story, steps[0].since, steps[-1].until)
    lack = minimums.lack(topic, held)
    known = [each for each in held if each.value is not None]
    return Shortage(
        len(names),
        f"{topic}-{partition}",
        tuple(steps),
        known[0].value if lack is None else None,
        is_default=any(each.is_default for each in known),
        refusal=minimums.refusal(story.life, steps[0].since, steps[-1].until),
        lines=tuple(dict.fromkeys(each.line for each in known if each.line is not None)),
        is_begun=all(own[0].is_begun for _, own in periods),
        lack=lack,
        is_of_others=any(each.is_of_others for each in known),
        held=tuple(held),
        mark=minimums.mark(story.life, steps[0].since, steps[-1].until),
        removable=frozenset(broker for _, own in periods for broker in own[0].removable),
        fallen=frozenset((broker, own[0].leader) for _, own in periods for broker in own[0].fallen),
    )


def refused(shortage: Shortage, *, by_any_setting: bool = False) -> timedelta:
    """Return how long writes with acks=all were refused, as far as it is proven.

    The brokers' setting alone proves nothing, because the topic may have its own one, but the leader's line
    does that the ISR is under the minimum.

    Args:
        shortage: The shortage.
        by_any_setting: Whether to take the brokers' setting for that of the topic and of the leader.
    """
    if shortage.mark is not None and not shortage.is_sure:
        return _refused_at(shortage.mark, shortage.steps)
    short = (
        min(end for end in (step.until, held.until) if end is not None) - max(step.since, held.since)
        for held in shortage.held
        if held.value is not None and (by_any_setting or not (held.is_default or held.is_of_others))
        for step in shortage.steps
        if step.size < held.value and step.is_certain and step.until is not None
    )
    return sum((each for each in short if each > timedelta(0)), timedelta(0))


def _refused_at(mark: BrokerLine, steps: Sequence[IsrStep]) -> timedelta:
    """Return for how long the ISR held of which its leader says that it is under the minimum."""
    held = (
        step.until - max(step.since, mark.time)
        for step in steps
        if step.size == mark.in_sync and step.is_certain and step.until is not None
        if step.since - CLOCKS <= mark.time <= step.until
    )
    return sum(held, timedelta(0))


def _may_be_refused(period: Period, minimums: Minimums) -> int:
    """Return 0 if lines prove that writes were refused in a period.

    It is 1 if they were by the brokers' setting, which the topic or the leader may override unseen, and 2 if
    no setting that is known refused any.
    """
    story, steps = period
    since, until = steps[0].since, steps[-1].until
    if minimums.proofs(story.life, since, until):
        return 0
    refusing = (
        held.is_default or held.is_of_others
        for held in minimums.held(story, since, until)
        if held.value is not None
        for step in steps
        if step.size < held.value and overlap(step, held)
    )
    return min(map(int, refusing), default=2)


def overlap(step: IsrStep, held: Held) -> bool:
    """Return whether an ISR held at a moment at which a minimum did; both may begin and end at one moment."""
    ends_before = step.until is not None and step.until <= held.since and step.since < held.since
    return not ends_before and (held.until is None or step.since < held.until or step.since == held.since)


def _badness(period: Period) -> tuple[int, bool, timedelta, datetime, Life]:
    """Order periods with the fewest replicas in sync first, of these those that last the longest.

    One that no line ends lasts the longest; of several of these, the one that began first.
    """
    story, steps = period
    since, until = steps[0].since, steps[-1].until
    lasted = timedelta(0) if until is None else until - since
    return min(step.size for step in steps), until is not None, -lasted, since, story.life
