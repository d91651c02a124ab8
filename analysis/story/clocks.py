"""Clocks of brokers that differ, as far as lines show it, and what of the story depends on two of them.

No broker logs a decision before its controller makes it. A broker whose line says otherwise has a clock that
is behind. How far is not known exactly, as nobody knows how long the request took, so no bound that is
computed from the lines of both is true. Brokers that are as far behind the same controller agree.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Duration, Lines, Unknown, as_timed, between
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Life, Outage
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, Delay, SetBack

BEHIND = timedelta(milliseconds=20)
"""The most by which a line may be before its cause among clocks that count as equal."""

LATE = timedelta(seconds=1)
"""The least delay of a leader's lines from which its clock may be ahead: requests are faster."""

SLOW = timedelta(minutes=1)
"""The least delay of a registration from which its broker's clock may be ahead: the answer comes sooner."""

_ALIKE = timedelta(milliseconds=100)
"""The most by which differences from one controller differ if only the controller's clock is off."""

_START = timedelta(minutes=10)
"""The longest time from a broker's registration to its start that counts; recovery takes most of it."""

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
        by_epochs: Whether it seems to be behind because its controller epoch is later than the other one's.
        is_by_registration: Whether only its registrations were late, not its elections.
        by_offsets: Whether records of a metadata log show it, whose offsets rise while their times fall.
    """

    broker: int
    controller: int
    least: timedelta
    is_ahead: bool
    by_epochs: bool = False
    is_by_registration: bool = False
    by_offsets: bool = False


def differences_of(delays: Iterable[Delay]) -> list[Difference]:
    """Return whose clocks differ, by controller and broker.

    If a clock is ahead, all lines of its broker are late, those of a follower too, and the lines of others
    about its own decisions as a controller are early. It is not ahead if one line is soon, and nothing shows
    it if the others' lines are not early, or if the controller leads as late when it elects itself. Two that
    are behind each other are compared by lines that are not about the same decisions, as where logs of
    several clusters are mixed.
    """
    found: list[Difference] = []
    rows = sorted(delays)
    least = {(each.controller, each.broker): each.least for each in rows}
    for each in rows:
        reverse = least.get((each.broker, each.controller))
        if each.least < -BEHIND:
            if reverse is None or reverse >= -BEHIND:
                found.append(
                    Difference(
                        each.broker, each.controller, -each.least, is_ahead=False, by_epochs=each.by_epochs
                    )
                )
        elif each.led is not None and _excess(each) >= LATE and reverse is None:
            found.append(Difference(each.broker, each.controller, each.least, is_ahead=True))
        elif each.registered is not None and each.least >= SLOW and reverse is None:
            late = Difference(
                each.broker, each.controller, each.least, is_ahead=True, is_by_registration=True
            )
            found.append(late)
    return found


def _excess(delay: Delay) -> timedelta:
    return delay.least if delay.excess is None else min(delay.least, delay.excess)


def _registrations(observed: Observed) -> Iterator[Delay]:
    """Generate the delays from records of registrations to brokers' own lines about them.

    A broker epoch is that of one registration, whatever the clocks of the two that log it.
    """
    records: dict[tuple[int | None, int | None], BrokerLine] = {
        (line.subject, line.broker_epoch): line
        for line in observed.of_kind(BrokerKind.BROKER_REGISTERED)
        if line.broker_epoch is not None and line.line.broker not in (None, line.subject)
    }
    for line in observed.of_kind(BrokerKind.REGISTERED) if records else ():
        record = records.get((line.subject, line.broker_epoch))
        writer = None if record is None else record.line.broker
        if record is not None and writer is not None and line.broker == line.subject is not None:
            delay = line.time - record.time
            yield Delay(writer, line.subject, delay, registered=delay)


def _unfencings(observed: Observed) -> Iterator[Delay]:
    """Generate the delays from controllers of KRaft that unfence brokers to these brokers' starts.

    A broker starts to serve as soon as its registration is unfenced for the first time. Only a difference
    that is the same for all its registrations, and of which the controller's lines begin early enough to show
    an earlier unfencing, is one of clocks: a controller unfences a registration again that it fenced.
    """
    unfenced: dict[tuple[int | None, int | None], BrokerLine] = {}
    for line in observed.of_kind(BrokerKind.BROKER_UNFENCED):
        if line.broker_epoch is not None and line.line.broker not in (None, line.subject):
            unfenced.setdefault((line.subject, line.broker_epoch), line)
    found: dict[tuple[int, int], list[timedelta]] = {}
    for own in observed.of_kind(BrokerKind.REGISTERED) if unfenced else ():
        granted, broker = unfenced.get((own.subject, own.broker_epoch)), own.broker
        controller = None if granted is None else granted.line.broker
        if granted is None or controller is None or broker is None or broker != own.subject:
            continue
        started = observed.about_within(broker, BrokerKind.STARTED, own.time, own.time + _START)
        spoken = observed.spoken.get(controller, ())
        if started and spoken and spoken[0] <= own.time:
            found.setdefault((controller, broker), []).append(started[0].time - granted.time)
    for (controller, broker), delays in found.items():
        least, most = min(delays), max(delays)
        if least > -SLOW and most < SLOW:
            # How far clocks differ that hardly do is shown by others' lines.
            yield Delay(controller, broker, max(least, timedelta(0)))
        elif most - least < SLOW and (least >= SLOW or most <= -SLOW):
            yield Delay(controller, broker, least, registered=least)


def _notices(observed: Observed) -> Iterator[Delay]:
    """Generate the delays from controllers' notices of registrations to brokers' own lines about them.

    A broker may log its registration before or after ZooKeeper tells the controller, so these only show that
    a clock is not ahead, and only if all notices with a registration nearby have one within a second.
    """
    own: dict[int, list[datetime]] = {}
    for line in observed.of_kind(BrokerKind.REGISTERED):
        if line.broker == line.subject is not None:
            own.setdefault(line.subject, []).append(line.time)
    for times in own.values():
        times.sort()
    found: dict[tuple[int, int], list[timedelta]] = {}
    for line in observed.of_kind(BrokerKind.BROKERS_CHANGED) if own else ():
        for broker in (*line.added, *line.bounced):
            if line.line.broker not in (None, broker):
                delays = found.setdefault((line.line.broker, broker), [])
                delays.extend(time - line.time for time in _near(own.get(broker, []), line.time))
    for (controller, broker), delays in found.items():
        if delays and all(-LATE < each < LATE for each in delays):
            yield Delay(controller, broker, max(timedelta(), *delays))


def _near(times: Sequence[datetime], moment: datetime) -> list[datetime]:
    """The nearest of some times in order, if it is near enough to be of one registration."""
    place = bisect_left(times, moment)
    nearest = min(times[max(0, place - 1) : place + 1], key=lambda each: abs(each - moment), default=None)
    return [] if nearest is None or abs(nearest - moment) >= SLOW else [nearest]


def delays_of(observed: Observed) -> list[Delay]:
    """Return the delays of brokers' lines about elections and registrations, by controller and broker."""
    by_epochs = [each for each in observed.delays if each.by_epochs]
    found = {(each.controller, each.broker): each for each in observed.delays if not each.by_epochs}
    for each in (*_registrations(observed), *_unfencings(observed)):
        known = found.get((each.controller, each.broker), each)
        registered = min(
            (own for own in (each.registered, known.registered) if own is not None), default=None
        )
        found[each.controller, each.broker] = known._replace(
            least=min(each.least, known.least), registered=registered
        )
    for each in _notices(observed):
        known = found.get((each.controller, each.broker), each)
        found[each.controller, each.broker] = known._replace(least=min(each.least, known.least))
    return [*found.values(), *by_epochs]


class Clocks:
    """The brokers whose lines may be subtracted from each other.

    Clocks agree unless lines show that they do not. A broker whose clock differs from one agrees only with
    those that it was compared with and did not differ from, and with those that agree with them.

    A clock that was set back agrees with none, not even with itself: its times before and after differ.

    Args:
        delays: The delays of brokers' lines.
        set_backs: The clocks that were set back.
    """

    def __init__(self, delays: Sequence[Delay], set_backs: Sequence[SetBack] = ()) -> None:
        self.differences = differences_of(delays)
        self.set_backs = tuple(set_backs)
        self._set_back = {each.broker for each in set_backs}
        self._apart = {frozenset((each.broker, each.controller)) for each in self.differences}
        self._group: dict[int, int] = {}
        for each in delays:
            if frozenset((each.broker, each.controller)) not in self._apart:
                self._join(each.broker, each.controller)
        for one, other in _alike(self.differences):
            self._join(one, other)
        self._suspect = {self._of(broker) for pair in self._apart for broker in pair}

    def _of(self, broker: int) -> int:
        return self._group.get(broker, broker)

    def _join(self, one: int, other: int) -> None:
        former, group = self._of(one), self._of(other)
        for broker in (one, other, *self._group):
            if self._of(broker) in (former, group):
                self._group[broker] = group

    @property
    def all_agree(self) -> bool:
        """Return whether no line shows that any clocks differ."""
        return not self.differences and not self.set_backs

    def groups(self, brokers: Iterable[int]) -> dict[int, int]:
        """Return the group of each broker, whose clocks agree; none of one whose clock was set back."""
        return {
            broker: self._of(broker) if self._of(broker) in self._suspect else NO_LEADER
            for broker in brokers
            if broker not in self._set_back
        }

    def agree(self, brokers: Iterable[int | None]) -> bool:
        """Return whether no line shows that the clocks of some brokers differ; None is nobody."""
        known = {broker for broker in brokers if broker is not None and broker >= 0}
        if known & self._set_back or any(pair <= known for pair in self._apart):
            return False
        groups = {self._of(broker) for broker in known}
        return len(groups) < 2 or groups.isdisjoint(self._suspect)


def _alike(differences: Iterable[Difference]) -> Iterator[tuple[int, int]]:
    """Generate the pairs of brokers that differ alike from one controller: its clock alone may be off."""
    by_controller: dict[tuple[int, bool], list[Difference]] = {}
    for each in differences:
        if not (each.by_epochs or each.is_by_registration):
            by_controller.setdefault((each.controller, each.is_ahead), []).append(each)
    for own in by_controller.values():
        for one, other in pairwise(sorted(own, key=lambda each: each.least)):
            if other.least - one.least <= _ALIKE:
                yield one.broker, other.broker


def clocks_of(observed: Observed) -> Clocks:
    """Return which clocks differ by everything in the lines."""
    return Clocks(delays_of(observed), observed.set_backs)


def writers(lines: Lines) -> set[int | None]:
    """Return the brokers that wrote some lines."""
    return {line.broker for line in lines}


def mixed_lives(observed: Observed, clocks: Clocks) -> set[Life]:
    """Return the partitions whose lines, or whose replicas' lines, are by clocks that differ."""
    if clocks.all_agree:
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
    return replace(story, outages=outages, isr=[_undated(step) for step in story.isr])


def outage_by_one_clock(outage: Outage, clocks: Clocks) -> Outage:
    """Mark an outage that is bounded by the lines of brokers whose clocks differ."""
    lines = (*outage.lines, *outage.begin.lines, *outage.end.lines)
    is_one = clocks.agree({outage.leader_before, outage.leader_after, *writers(lines)})
    return outage if is_one else replace(outage, is_mixed=True)


def duration_of(outage: Outage) -> Duration:
    """Return how long a partition had no leader; moments of clocks that differ give no duration."""
    if outage.span is not None:
        return outage.span
    if outage.is_mixed:
        return Unknown(DIFFERING, (*outage.begin.lines, *outage.end.lines))
    return as_timed(
        between(outage.begin, outage.end), (*outage.lines, *outage.begin.lines, *outage.end.lines)
    )


def _undated(step: IsrStep) -> IsrStep:
    return step._replace(is_certain=False, is_begun=False)
