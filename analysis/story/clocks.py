"""Clocks of brokers that differ by a second or more, and what of the story depends on two of them.

No broker logs a decision before its controller makes it. A broker whose line says otherwise has a clock that
is behind. How far is not known exactly, as nobody knows how long the request took, so nothing between the
lines of two such brokers is claimed.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import replace
from datetime import timedelta
from typing import NamedTuple

from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Bound, Duration, Instant, Lines, Unknown, as_timed, between
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Life, Outage
from barnabas.analysis.story.rows import Delay

BEHIND = timedelta(seconds=1)
"""The least by which a line is before its cause only if its broker's clock is behind."""

LATE = timedelta(seconds=1)
"""The least delay of a leader's lines from which its clock may be ahead: requests are faster."""

DIFFERING = "the clocks of brokers differ"
"""The reason why a duration between lines of two brokers is unknown."""


class Difference(NamedTuple):
    """Two brokers whose clocks differ.

    Attributes:
        broker: The broker whose clock is compared with its controller's.
        controller: The controller.
        least: The least time by which the clocks differ, if ``broker`` is behind; else the least delay of
            its lines, so the most by which it is ahead.
        is_ahead: Whether the clock of ``broker`` seems to be ahead; that is not proven, as lines may be
            missing.
    """

    broker: int
    controller: int
    least: timedelta
    is_ahead: bool


def differences_of(delays: Iterable[Delay]) -> list[Difference]:
    """Return whose clocks differ, by controller and broker.

    If a clock is ahead, all lines of its broker are late, those of a follower too. It is not ahead if one
    line is soon, if the controller leads as late when it elects itself, or if its own decisions as a
    controller reach the others late, too. Two that are behind each other are compared by lines that are not
    about the same decisions, as where logs of several clusters are mixed.
    """
    found: list[Difference] = []
    rows = sorted(delays)
    least = {(each.controller, each.broker): each.least for each in rows}
    for each in rows:
        reverse = least.get((each.broker, each.controller))
        late = each.least if each.excess is None else min(each.least, each.excess)
        if each.least < -BEHIND and (reverse is None or reverse >= -BEHIND):
            found.append(Difference(each.broker, each.controller, -each.least, is_ahead=False))
        elif each.led is not None and late >= LATE and reverse is None:
            found.append(Difference(each.broker, each.controller, each.least, is_ahead=True))
    return found


class Clocks:
    """The brokers whose lines may be subtracted from each other: those of which no line shows a difference.

    Args:
        differences: The clocks that differ.
    """

    def __init__(self, differences: Iterable[Difference]) -> None:
        self.differences = tuple(differences)
        self._off = {each.broker for each in self.differences}

    def agree(self, brokers: Iterable[int | None]) -> bool:
        """Return whether no line shows that the clocks of some brokers differ; None is nobody."""
        known = {broker for broker in brokers if broker is not None and broker >= 0}
        return len(known) < 2 or known.isdisjoint(self._off)


def clocks_of(observed: Observed) -> Clocks:
    """Return which clocks differ by everything in the lines."""
    return Clocks(differences_of(observed.delays))


def writers(lines: Lines) -> set[int | None]:
    """Return the brokers that wrote some lines."""
    return {line.broker for line in lines}


def mixed_lives(observed: Observed, clocks: Clocks) -> set[Life]:
    """Return the partitions whose lines, or whose replicas' lines, are by clocks that differ."""
    if not clocks.differences:
        return set()
    brokers: dict[Life, set[int | None]] = {}
    for state in observed.states:
        known = brokers.setdefault((state.topic, state.partition, state.life), set())
        known.update((state.leader, state.line.broker, *(state.isr or ()), *(state.replicas or ())))
    for each in observed.marks:
        brokers.setdefault((each.topic, each.partition, each.life), set()).add(each.line.broker)
    return {life for life, known in brokers.items() if not clocks.agree(known)}


def by_one_clock(story: History, mixed: Collection[Life]) -> History:
    """Take from the times without a leader and from the ISRs of a partition what clocks that differ prove."""
    if story.life not in mixed:
        return story
    outages = [replace(each, is_mixed=True) for each in story.outages]
    undated = [step._replace(is_certain=False, is_begun=False) for step in story.isr]
    return replace(story, outages=outages, isr=undated)


def outage_by_one_clock(outage: Outage, clocks: Clocks) -> Outage:
    """Mark an outage that is bounded by the lines of brokers whose clocks differ."""
    lines = (*outage.lines, *outage.begin.lines, *outage.end.lines)
    is_one = clocks.agree({outage.leader_before, outage.leader_after, *writers(lines)})
    return outage if is_one else replace(outage, is_mixed=True)


def absence_by_one_clock(absence: Absence, clocks: Clocks) -> Absence:
    """Keep of a departure and a return between the moments of two clocks that differ only the later one."""

    def kept(moment: Instant) -> Instant:
        if not isinstance(moment, Bound) or moment.at_most is None:
            return moment
        is_one = clocks.agree((absence.broker, *writers(moment.lines)))
        return moment if is_one else Bound(None, moment.at_most, moment.lines)

    return replace(absence, gone=kept(absence.gone), returned=kept(absence.returned))


def duration_of(outage: Outage) -> Duration:
    """Return how long a partition had no leader; moments of clocks that differ give no duration."""
    if outage.is_mixed:
        return Unknown(DIFFERING, (*outage.begin.lines, *outage.end.lines))
    return as_timed(
        between(outage.begin, outage.end), (*outage.lines, *outage.begin.lines, *outage.end.lines)
    )
