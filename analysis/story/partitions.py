"""Each partition's leaderships, times without a leader, unseen changes, and ISR steps together.

The leader epoch rises by one with each change of the leader, also to none. Two states with consecutive epochs
therefore have nothing between them; where epochs jump, what happened is unknown, and no outage is claimed.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import pairwise, zip_longest
from typing import NamedTuple, TypeVar

from barnabas.analysis.story.certainty import (
    Instant,
    Lines,
    Unknown,
    latest,
    moment,
)
from barnabas.analysis.story.isr import IsrStep, isr_steps
from barnabas.analysis.story.leaderships import Leadership, is_of_another_cluster, leaderships, led
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.refusals import without_refused
from barnabas.analysis.story.rows import NO_LEADER, RECORD, LedAgain, Mark, Refusal, State

M = TypeVar("M", Mark, LedAgain)

Life = tuple[str, int, int]
"""A partition's incarnation: topic, partition, and how often its topic was created before."""

_UNSEEN = "the states in between are missing"


@dataclass(frozen=True, slots=True)
class Outage:
    """A time in which a partition had no leader; that it happened is proven.

    Attributes:
        life: The partition.
        begin: When the leader was lost; only its latest moment unless the leader's absence bounds it.
        end: When the next leader led; only its own line bounds that from above, as it learns of its election.
        leader_before: The leader that was lost; None if it is not known.
        leader_after: The next leader; None if it is not known.
        shown: When the next state was decided, or the first line about it; None if no line shows one.
        failed: The number of elections that failed meanwhile, as far as they are logged.
        deleted: Whether the topic was deleted meanwhile.
        is_late: Whether only lines of brokers show it; of KRaft a broker logs what it reads much later.
        lines: The lines that prove it.
        refusal: The line of ``leader_before`` that it does not lead, if the outage began when its leader was
            moved there, or when it should have led on; None otherwise.
        led_at: When the lost leader logged that it leads in its last leader epoch; None if no line shows it.
        is_mixed: Whether its begin and its end may be by clocks that differ.
        lasting: When the logs end, if as far as they show there is no leader then; None otherwise.
        may_be_older: Whether it may have begun in a state before it that no line shows.
    """

    life: Life
    begin: Instant
    end: Instant
    leader_before: int | None
    leader_after: int | None
    shown: datetime | None = None
    failed: int = 0
    deleted: bool = False
    is_late: bool = False
    lines: Lines = ()
    refusal: Refusal | None = None
    led_at: datetime | None = None
    is_mixed: bool = False
    lasting: datetime | None = None
    may_be_older: bool = False


class Gap(NamedTuple):
    """Leader changes that no line shows: the leader epoch rose by more than one.

    Attributes:
        life: The partition.
        since: The last state known before.
        until: The first state known after.
        changes: The least number of states between.
        lines: The two lines whose epochs jump.
    """

    life: Life
    since: datetime
    until: datetime
    changes: int
    lines: Lines


@dataclass(frozen=True, slots=True)
class History:
    """The history of a partition's incarnation, as far as it is known.

    Attributes:
        life: The partition.
        leaderships: Its leaders, by leader epoch.
        outages: Its times without a leader.
        gaps: Its unseen changes.
        isr: Its ISRs, step by step.
        led: The leaders' own lines that they lead, by time.
    """

    life: Life
    leaderships: Sequence[Leadership]
    outages: Sequence[Outage]
    gaps: Sequence[Gap]
    isr: Sequence[IsrStep]
    led: Sequence[LedAgain] = ()


_DELETION = timedelta(seconds=5)
"""The largest time between a deletion's steps, as in ``derived.lives``."""


def histories(observed: Observed) -> list[History]:
    """Return the history of each partition's incarnation, ordered by topic, partition and incarnation."""
    by_life: dict[Life, list[State]] = {}
    for state in observed.states:
        by_life.setdefault((state.topic, state.partition, state.life), []).append(state)
    marks_of: dict[Life, list[Mark]] = {}
    for mark in observed.marks:
        marks_of.setdefault((mark.topic, mark.partition, mark.life), []).append(mark)
    led_of: dict[Life, list[LedAgain]] = {}
    for again in observed.led:
        led_of.setdefault((again.topic, again.partition, again.life), []).append(again)
    refused: dict[Life, list[Refusal]] = {}
    for refusal in observed.refusals:
        refused.setdefault((refusal.topic, refusal.partition, refusal.life), []).append(refusal)
    found = [
        _history(
            life,
            without_refused(leaderships(by_life.get(life, [])), refused.get(life, [])),
            by_life.get(life, []),
            sorted(marks_of.get(life, []), key=_time),
            sorted(led_of.get(life, []), key=_time),
        )
        for life in sorted({*by_life, *marks_of})
    ]
    return [_until_deletion(each, observed.deleted.get(each.life)) for each in found]


def _time(mark: Mark | LedAgain | Refusal) -> datetime:
    return mark.time


def _within(marks: Sequence[M], since: datetime | None, until: datetime | None) -> Sequence[M]:
    """Return the marks from one moment to another, both included; None is no bound."""
    first = 0 if since is None else bisect_left(marks, since, key=_time)
    return marks[first : len(marks) if until is None else bisect_right(marks, until, key=_time)]


def _between(marks: Sequence[M], since: datetime, until: datetime | None) -> Sequence[M]:
    """Return the marks after one moment and before another, both excluded; None is no bound."""
    first = bisect_right(marks, since, key=_time)
    return marks[first : len(marks) if until is None else bisect_left(marks, until, key=_time)]


def _history(
    life: Life, elected: Sequence[Leadership], states: Sequence[State], marks: Sequence[Mark],
    led_again: Sequence[LedAgain],
) -> History:  # fmt: skip
    own: dict[tuple[int, int | None], datetime] = {}
    for again in led_again:
        own.setdefault((again.leader, again.leader_epoch), again.time)
    found = [_with_own_line(each, own) for each in elected]
    gaps = [gap for before, after in pairwise(found) for gap in _gap(life, before, after)]
    outages = [outage for index in range(len(found)) for outage in _ended(life, found, index, marks)]
    returned = _returned(life, found, marks, led_again)
    over = max((each.shown for each in returned if each.shown is not None), default=None)
    late = [mark for mark in marks if over is None or mark.time > over]
    return History(
        life, found, [*outages, *returned, *_lasting(life, found, late)], gaps, isr_steps(states), led_again
    )


def _with_own_line(leadership: Leadership, own: Mapping[tuple[int, int | None], datetime]) -> Leadership:
    """Add when the leader logged that it leads, from the first such lines by leader and leader epoch."""
    led_at = own.get((leadership.leader, leadership.epoch))
    return leadership._replace(led_at=led_at) if leadership.led_at is None is not led_at else leadership


def _jump(before: Leadership, after: Leadership) -> int | None:
    if before.epoch is None or after.epoch is None:
        return None
    return after.epoch - before.epoch


def _gap(life: Life, before: Leadership, after: Leadership) -> list[Gap]:
    jump = _jump(before, after)
    is_other = is_of_another_cluster(before.controller_epoch, after.controller_epoch)
    if jump is None or jump < 2 or is_other:
        return []
    return [Gap(life, before.since, after.since, jump - 1, (before.line, after.line))]


def _ended(life: Life, found: Sequence[Leadership], index: int, marks: Sequence[Mark]) -> list[Outage]:
    """Return the outage that the leadership at ``index`` ends, if the lines prove one."""
    after, before = found[index], found[index - 1] if index else None
    if before is not None and is_of_another_cluster(before.controller_epoch, after.controller_epoch):
        # No line shows how the leadership in the other cluster ended.
        return _lasting(life, found[:index], ()) if before.leader == NO_LEADER else []
    jump = None if before is None else _jump(before, after)
    if before is not None and before.leader == NO_LEADER:
        if after.leader == NO_LEADER and jump == 1:
            return []  # the same outage continues: another replica was removed from the ISR
        is_next, end = jump == 1, led(after)
        if not is_next:
            end = moment(None, None if after.leader == NO_LEADER else latest(end), end.lines, _UNSEEN)
        shown, leader = max(after.since, before.since), after.leader if is_next else None
        return [_without(life, found, index - 1, marks, shown=shown, end=end, leader_after=leader)]
    if after.leader == NO_LEADER or not after.was_offline:
        return []
    earlier = _within(marks, None if before is None else before.since, after.since)
    # With consecutive epochs the first mark is of this outage; without epochs only the last one surely is.
    noticed = (earlier[:1] if jump == 1 else earlier[-1:] if jump is None else [])[:1]
    at_most = noticed[0].time if noticed else after.since
    begin = moment(None, at_most, tuple(mark.line for mark in noticed) or (after.line,), "")
    return [
        Outage(
            life, begin, led(after), before.leader if before is not None and jump in (1, None) else None,
            after.leader, after.since, sum(mark.reason is not None for mark in earlier),
            lines=(after.line, *(mark.line for mark in noticed)),
            led_at=before.led_at if before is not None and jump == 1 else None,
        )
    ]  # fmt: skip


def _without(
    life: Life, found: Sequence[Leadership], index: int, marks: Sequence[Mark], *,
    shown: datetime | None, end: Instant, leader_after: int | None,
) -> Outage:  # fmt: skip
    """Return the outage of which the leadership at ``index``, without a leader, is the last one known."""
    last = index
    while index and found[index - 1].leader == NO_LEADER and _jump(found[index - 1], found[index]) == 1:
        index -= 1
    none, before = found[index], found[index - 1] if index else None
    is_next = before is not None and _jump(before, none) == 1
    # Unless the state before is known, the leader may have been lost before this replica was removed.
    lost = none.removed if is_next or none.removed in (none.isr or ()) else None
    if lost is None and before is not None and is_next:
        lost = before.leader
    failed = [mark for mark in _within(marks, none.since - CLOCKS, shown) if mark.reason]
    lines = (none.line, *(mark.line for mark in failed[:1]), *end.lines)
    begin = moment(None, none.since, (none.line,), "")
    refusal = none.refusal
    if refusal is not None and none.was_offline and is_next:
        refusal = None  # The leader before was lost already.
    if refusal is not None:
        is_same = before is not None and before.leader == refusal.broker
        # The leader before, if it was another one, led until it learned that the next one was elected.
        until = found[last + 1].since if last + 1 < len(found) and not is_same else refusal.time
        lost, begin = refusal.broker, moment(None, max(none.since, until), (refusal.line,), "")
    return Outage(
        life, begin, end, lost, leader_after, shown, len(failed), is_late=none.decided is None,
        lines=lines, refusal=refusal, led_at=before.led_at if before is not None and is_next else None,
        may_be_older=not is_next and refusal is None and (before is not None or lost is None),
    )  # fmt: skip


def _lasting(life: Life, found: Sequence[Leadership], marks: Sequence[Mark]) -> list[Outage]:
    """Return the outage after which no line shows a leader."""
    end = Unknown("no line shows a later leader")
    if found and found[-1].leader == NO_LEADER:
        return [_without(life, found, len(found) - 1, marks, shown=None, end=end, leader_after=None)]
    late = [mark for mark in marks if not found or mark.time > found[-1].since]
    if not late:
        return []
    failed, line = sum(mark.reason is not None for mark in late), late[0].line
    lost = found[-1].leader if found else None
    begin = moment(None, late[0].time, (line,), "")
    return [Outage(life, begin, end, lost, None, failed=failed, lines=(line,))]


def _returned(
    life: Life, found: Sequence[Leadership], marks: Sequence[Mark], led_again: Sequence[LedAgain]
) -> list[Outage]:
    """Return the outages after which the same broker led on in its old leader epoch, by its own line.

    It was the only replica in sync, so nobody else could be elected, and its return changes no state.
    """
    outages = []
    for before, after in zip_longest(found, found[1:]):
        until = None if after is None else after.since
        if before.leader == NO_LEADER or (after is not None and after.was_offline):
            continue
        failed = _between(marks, before.since, until)
        again = next(
            (
                each for each in (_between(led_again, failed[-1].time, until) if failed else ())
                if (each.leader, each.leader_epoch) == (before.leader, before.epoch)
            ),
            None,
        )  # fmt: skip
        if again is not None:
            begin = moment(None, failed[0].time, (failed[0].line,), "")
            end = moment(None, again.time, (again.line,), "")
            number = sum(mark.reason is not None for mark in failed)
            outages.append(
                Outage(
                    life, begin, end, before.leader, before.leader, again.time, number,
                    lines=(failed[0].line, again.line),
                )
            )  # fmt: skip
    return outages


def _until_deletion(story: History, deleted: datetime | None) -> History:
    if deleted is None:
        return story
    left = [each for each in story.outages if not _is_of_deletion(each, deleted)]
    # The controller removes the replicas from the ISR before it deletes them.
    isr = [step for step in story.isr if step.since < deleted - _DELETION]
    if len(isr) < len(story.isr) and isr:
        isr[-1] = isr[-1]._replace(until=None, is_certain=False)
    return replace(story, outages=[_until_deleted(each, deleted) for each in left], isr=isr)


def _until_deleted(outage: Outage, deleted: datetime) -> Outage:
    if outage.shown is not None:
        return outage
    # A metadata log contains each change of a leader; after missing records it shows no deletion.
    is_whole = outage.lines[0].text.startswith(RECORD)
    end = moment(deleted if is_whole else None, deleted, (), "")
    return replace(outage, end=end, shown=deleted, deleted=True)


def _is_of_deletion(outage: Outage, deleted: datetime) -> bool:
    begin = latest(outage.begin)
    return begin is not None and begin >= deleted - CLOCKS
