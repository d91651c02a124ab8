"""The episodes that an operator is alerted of: lasting conditions and events, as the lines prove them.

An episode is one time in which a partition had no leader or too few replicas in sync, or in which a broker
left again and again; or one event: another controller, an unclean election. What the story calls unknown is
no episode: an ISR below an unknown ``min.insync.replicas``, or what lies where leader epochs jump.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from functools import partial
from itertools import chain, groupby
from typing import NamedTuple

from barnabas.analysis.story.absence import begin_of
from barnabas.analysis.story.accounts import account_of
from barnabas.analysis.story.brokers import absences
from barnabas.analysis.story.certainty import Bound, Instant, Line, Lines, Unknown, by, latest
from barnabas.analysis.story.clocks import clocks_of, duration_of
from barnabas.analysis.story.controllers import changes_of
from barnabas.analysis.story.elections import consecutive, unclean_elections
from barnabas.analysis.story.isr import IsrStep
from barnabas.analysis.story.minimums import Minimums, minimums_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Life, Outage
from barnabas.analysis.story.rows import NO_LEADER, State
from barnabas.analysis.story.words import Rounding, at, count, duration, lasted


class AlertKind(StrEnum):
    """The kinds of alert."""

    CONTROLLER_CHANGE = "ControllerChange"
    NO_LEADER = "PartitionWithoutLeader"
    UNDER_MIN_ISR = "PartitionUnderMinIsr"
    UNCLEAN_ELECTION = "UncleanLeaderElection"
    FLAPPING_BROKER = "FlappingBroker"


FLAPS = 3
"""The number of departures within ``FLAPPING_WINDOW`` from which on a broker counts as flapping."""

FLAPPING_WINDOW = timedelta(minutes=15)
"""The time in which ``FLAPS`` departures make a broker flapping."""

_ONE_DEPARTURE = timedelta(minutes=1)
"""Departures from ISRs within this time of each other, or of an absence, are one.

A broker that fails leaves the ISRs of its partitions one after another.
"""

_SHOWN_LINES = 5

_DEFAULT = "the brokers' "

_NO_VALUE = "its min.insync.replicas, whose value no line gives,"

_LASTS = "no line shows that it ended"


@dataclass(frozen=True, slots=True)
class Episode:
    """A condition of the cluster from its begin to its end, or an event.

    Attributes:
        kind: What it is about.
        subject: What it concerns; with ``kind`` it tells apart episodes that may overlap.
        begin: When it began; bounded by a line at least from above.
        end: When it ended; unknown while it lasts. The begin, for an event.
        lasts: Whether no line shows its end. An event does not last.
        is_event: Whether it has no end of its own, so that its alert is resolved after a while.
        brokers: The brokers it concerns, as far as they are known.
        topic: The topic; None if it is not about a partition.
        partition: The partition's number; None if it is not about a partition.
        text: A sentence about it.
        lines: The lines that prove it, the most important first.
        shown: The time of the first line which shows that it is over; None if none does.
    """

    kind: AlertKind
    subject: str
    begin: Instant
    end: Instant
    lasts: bool
    is_event: bool
    brokers: tuple[int, ...]
    topic: str | None
    partition: int | None
    text: str
    lines: Lines
    shown: datetime | None = None

    @property
    def since(self) -> datetime:
        """Return the latest moment at which it began."""
        return by(self.begin)

    @property
    def until(self) -> datetime | None:
        """Return the latest moment at which it ended; None while it lasts.

        If nothing bounds the end of what is over, it is the time of the line that shows it to be over.
        """
        return None if self.lasts else latest(self.end) or max(self.shown or self.since, self.since)


def episodes(observed: Observed) -> list[Episode]:
    """Return the episodes that are worth an alert, sorted within each kind and subject by their begin."""
    # An absence bounds the outages that it causes, as in the incidents.
    account = account_of(observed, clocks_of(observed))
    stories = account.stories
    newest: dict[tuple[str, int], int] = {}
    for story in stories:
        topic, partition, life = story.life
        newest[topic, partition] = max(life, newest.get((topic, partition), 0))
    found = [
        *_controller_changes(observed),
        *_without_leader([*account.free, *chain.from_iterable(account.charged.values())], newest),
        *_under_min_isr(stories, observed.deleted, newest, minimums_of(observed)),
        *_unclean(observed.states),
        *_flapping(observed),
    ]
    return sorted(found, key=lambda each: (each.kind, each.subject, each.since))


def _controller_changes(observed: Observed) -> Iterator[Episode]:
    for before, change in changes_of(observed):
        after, unseen = change.new, change.unseen
        when: Instant = Bound(None, after.since)
        gap = f" ({count(unseen, 'controller epoch')} between, not in these logs)" if unseen else ""
        text = (
            f"Broker {after.broker} was the controller in epoch {after.epoch} {at(when)}, "
            f"after broker {before.broker} in epoch {before.epoch}{gap}."
        )
        yield Episode(
            AlertKind.CONTROLLER_CHANGE, f"epoch {after.epoch} of broker {after.broker}", when, when,
            lasts=False, is_event=True, brokers=(after.broker, before.broker), topic=None, partition=None,
            text=text, lines=after.lines,
        )  # fmt: skip


def _without_leader(outages: Iterable[Outage], newest: Mapping[tuple[str, int], int]) -> Iterator[Episode]:
    for outage in outages:
        begin = latest(outage.begin)
        if begin is not None:
            # Clocks that differ bound nothing.
            known = Bound(None, begin, outage.begin.lines) if outage.is_mixed else outage.begin
            bounded = replace(outage, begin=known)
            yield _of_outage(bounded, is_newest=_is_newest(outage.life, newest))


def _of_outage(outage: Outage, *, is_newest: bool) -> Episode:
    topic, partition, _ = outage.life
    name = f"{topic}-{partition}"
    is_open = outage.shown is None
    lasts = is_open and is_newest
    before = "" if outage.leader_before is None else f", broker {outage.leader_before},"
    if lasts:
        text = f"{name} lost its leader{before} {at(outage.begin)}, and no line shows a later leader."
    elif is_open:
        text = f"{name} lost its leader{before} {at(outage.begin)}; the topic was created again later."
    else:
        led = "was elected" if latest(outage.end) is None else "led it"
        after = "" if outage.leader_after is None else f", until broker {outage.leader_after} {led}"
        after = ", until the topic was deleted" if outage.deleted else after
        text = f"{name} had no leader {lasted(duration_of(outage))}{after}."
    known = (outage.leader_before, None if lasts else outage.leader_after)
    return Episode(
        AlertKind.NO_LEADER, _subject(outage.life), outage.begin, Unknown(_LASTS) if lasts else outage.end,
        lasts=lasts, is_event=False,
        brokers=tuple(dict.fromkeys(each for each in known if each is not None and each >= 0)),
        topic=topic, partition=partition, text=text, lines=outage.lines,
        shown=outage.shown,
    )  # fmt: skip


def _under_min_isr(
    stories: Iterable[History], deleted: Mapping[Life, datetime], newest: Mapping[tuple[str, int], int],
    minimums: Minimums,
) -> Iterator[Episode]:  # fmt: skip
    for story in stories:
        before: IsrStep | None = None
        for is_short, group in groupby(story.isr, partial(_is_below, story, minimums)):
            steps = list(group)
            if is_short:
                yield _of_short(
                    story, before, steps, minimums, deleted.get(story.life),
                    is_newest=_is_newest(story.life, newest),
                )  # fmt: skip
            before = steps[-1]


def _is_below(story: History, minimums: Minimums, step: IsrStep) -> bool:
    """Return whether an ISR is below the minimum.

    With fewer replicas than the minimum, all in sync, Kafka refuses writes up to 3.6 and accepts them from
    3.7 on (``Partition.effectiveMinIsr``), so only a refused write or the leader's own line proves it.
    """
    proof = minimums.proof(story.life, step.since, step.until)
    if proof is not None and proof.in_sync in (None, step.size):
        return True
    minimum = minimums.held(story.life[0], step.since, step.until).value
    return minimum is not None and step.size < min(minimum, step.assigned)


def _of_short(
    story: History, before: IsrStep | None, steps: Sequence[IsrStep], minimums: Minimums,
    deleted: datetime | None, *, is_newest: bool,
) -> Episode:  # fmt: skip
    topic, partition, _ = story.life
    since, until = steps[0].since, steps[-1].until
    minimum, proof = minimums.held(topic, since, until), minimums.proof(story.life, since, until)
    # A state may be older than the first line about it.
    begin: Instant = Bound(None, since)
    until = until if until is not None else deleted
    lasts = until is None and is_newest
    # Likewise, only the first line about the ISR that ended it is known.
    end: Instant = Unknown(_LASTS) if until is None else Bound(None, until)
    least = min(step.size for step in steps)
    # The first ISR known may never have been larger, as with one replica.
    has_fallen = before is not None and minimum.value is not None and before.size >= minimum.value
    verb, to = ("fell", "to") if has_fallen else ("was", "with")
    # The topic may have its own setting, which no line shows.
    is_sure = proof is not None or not minimum.is_default
    are, were = ("are", "were") if is_sure else ("may be", "may have been")
    whose = _DEFAULT if minimum.is_default else ""
    name = _NO_VALUE if minimum.value is None else f"{whose}min.insync.replicas={minimum.value}"
    fell = f"{topic}-{partition} {verb} below {name} {at(begin)}, {to} {least} in sync"
    if lasts:
        text = f"{fell}: writes with acks=all {are} refused, and no line shows a larger ISR since."
    elif until is None:
        text = f"{fell}; the topic was created again later."
    elif steps[-1].until is None:
        text = f"{fell}; the topic was deleted {at(end)}."
    else:
        text = f"{fell}, and was no longer below it {at(end)}: writes with acks=all {were} refused between."
    shown = () if proof is None else (proof.line,)
    return Episode(
        AlertKind.UNDER_MIN_ISR, _subject(story.life), begin, end, lasts=lasts, is_event=False,
        brokers=_concerned(story, steps[-1]), topic=topic, partition=partition, text=text,
        lines=tuple(dict.fromkeys((*shown, *(step.line for step in steps))))[:_SHOWN_LINES],
    )  # fmt: skip


def _concerned(story: History, last: IsrStep) -> tuple[int, ...]:
    """Return the leader at the end of an ISR, then the replicas that left it since it was last whole."""
    known: set[int] = set()
    for step in story.isr:
        if step.size >= step.assigned:
            known.clear()
        known |= step.isr | step.fallen
        if step.since >= last.since:
            break
    led = [each.leader for each in story.leaderships if last.until is None or each.since < last.until]
    leader = led[-1] if led else last.leader
    missing = sorted(known - last.isr - {leader})
    return (*(() if leader == NO_LEADER else (leader,)), *missing)


def _unclean(states: Iterable[State]) -> Iterator[Episode]:
    for each in unclean_elections(states):
        topic, partition, _ = each.life
        how = f"although it was not in the ISR {list(each.isr)}" if each.isr else "uncleanly"
        text = (
            f"Broker {each.leader} was elected leader of {topic}-{partition} {at(each.when)} {how}: "
            "acknowledged records may be lost."
        )
        yield Episode(
            AlertKind.UNCLEAN_ELECTION, f"{_subject(each.life)} leader epoch {each.leader_epoch}",
            each.when, each.when, lasts=False, is_event=True, brokers=(each.leader,), topic=topic,
            partition=partition, text=text, lines=each.lines,
        )  # fmt: skip


def _flapping(observed: Observed) -> Iterator[Episode]:
    """Yield the times in which a broker left the cluster, or ISRs, again and again."""
    departures: dict[int, list[_Departure]] = {}
    for absence in absences(observed):
        line = absence.lines[0] if absence.lines else None
        departures.setdefault(absence.broker, []).append(_Departure(begin_of(absence), line, is_absence=True))
    for before, after in consecutive(observed.states):
        for broker in set(before.isr or ()) - set(after.isr or ()):
            time = after.decided or after.first_logged
            departures.setdefault(broker, []).append(_Departure(time, after.line, is_absence=False))
    for broker, left in sorted(departures.items()):
        yield from _flaps(broker, left)


class _Departure(NamedTuple):
    """A departure of a broker, from the cluster or from one ISR."""

    time: datetime
    line: Line | None
    is_absence: bool


def _distinct(left: Iterable[_Departure]) -> list[_Departure]:
    """Return one departure for each time that a broker left; each absence is another time."""
    distinct: list[_Departure] = []
    last: datetime | None = None
    has_absence = False
    for each in sorted(left, key=lambda each: each.time):
        is_same = last is not None and each.time - last <= _ONE_DEPARTURE
        if is_same and not (each.is_absence and has_absence):
            has_absence = has_absence or each.is_absence
        else:
            distinct.append(each)
            has_absence = each.is_absence
        last = each.time
    return distinct


def _flaps(broker: int, left: Sequence[_Departure]) -> Iterator[Episode]:
    distinct = _distinct(left)
    groups: list[list[_Departure]] = []
    for index in range(FLAPS - 1, len(distinct)):
        first, current = distinct[index - FLAPS + 1], distinct[index]
        if current.time - first.time > FLAPPING_WINDOW:
            continue
        if groups and groups[-1][-1] == distinct[index - 1]:
            groups[-1].append(current)
        else:
            groups.append(list(distinct[index - FLAPS + 1 : index + 1]))
    for group in groups:
        begin: Instant = Bound(None, group[FLAPS - 1].time)
        end: Instant = Bound(None, group[-1].time)
        text = (
            f"Broker {broker} left the cluster or ISRs {len(group)} times "
            f"within {duration(group[-1].time - group[0].time, Rounding.UP)}, the last time {at(end)}."
        )
        yield Episode(
            AlertKind.FLAPPING_BROKER, f"broker {broker}", begin, end, lasts=False, is_event=True,
            brokers=(broker,), topic=None, partition=None, text=text,
            lines=tuple(each.line for each in group if each.line is not None),
        )  # fmt: skip


def _subject(life: Life) -> str:
    # Without the incarnation, whose number rises if an older log shows another creation.
    return f"{life[0]}-{life[1]}"


def _is_newest(life: Life, newest: Mapping[tuple[str, int], int]) -> bool:
    return life[2] == newest[life[0], life[1]]
