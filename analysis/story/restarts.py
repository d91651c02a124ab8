"""Times without a leader that only the end of a broker proves.

If nobody was there to notice, or a broker was back before anybody did, no line says that a partition had no
leader. Yet the process that led it had ended, and where leader epochs follow each other no other broker led.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.story.absence import Absence, known_end
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Instant, Line, by, earliest, latest, moment
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.leaderships import Leadership, is_of_another_cluster, led
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.partitions import History, Outage
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine

_ELECTION = timedelta(seconds=30)
"""The longest time from a broker's return to its election; a later one is not because of the return."""


_LAUNCH = timedelta(milliseconds=100)
"""The shortest time between the end of a process and the next one's first line."""

_TO_FENCE = timedelta(seconds=1)
"""The shortest time from the end of a process to the fence because its session timed out.

The time-out is seconds longer than the time between two heartbeats, 9 s and 2 s by default.
"""


class Departed(NamedTuple):
    """The absences that may have taken leaderships, by broker.

    Attributes:
        ended: Those whose process ended, as lines prove, by the latest moment of the end.
        away: The times of these in which no other process served yet.
        fenced: Those that a KRaft controller fenced, while the process lived on and registered again, or
            nothing shows that it lived on or ended.
    """

    ended: Mapping[int, Sequence[Absence]]
    away: Mapping[int, Intervals[Absence]]
    fenced: Mapping[int, Sequence[Absence]]


def departed(found: Iterable[Absence], fences: Iterable[BrokerLine] = ()) -> Departed:
    """Select the absences that may have taken leaderships.

    Args:
        found: All absences.
        fences: The lines by which controllers of KRaft fenced brokers.
    """
    by_fence = {each.line for each in fences}
    ended: dict[int, list[Absence]] = {}
    fenced: dict[int, list[Absence]] = {}
    for each in found:
        if _has_ended(each) and latest(each.gone) is not None:
            ended.setdefault(each.broker, []).append(each)
        elif each.cause is Cause.LOST_SESSION or (
            each.wrote_until is None and not by_fence.isdisjoint(each.noticed.lines)
        ):
            fenced.setdefault(each.broker, []).append(each)
    away = {
        broker: Intervals(
            (_ended(each, by_fence), back, each)
            for each in own
            if (back := earliest(each.returned)) is not None
        )
        for broker, own in ended.items()
    }
    return Departed({broker: sorted(own, key=_gone) for broker, own in ended.items()}, away, fenced)


def _gone(absence: Absence) -> datetime:
    return by(absence.gone)


def _ended(absence: Absence, fences: AbstractSet[Line]) -> datetime:
    """Return the latest moment at which a process ended: the next one needs a while until its first line.

    Nor did it live right before the fence because its session had timed out.
    """
    ends = [_gone(absence)]
    if absence.started is not None:
        ends.append(absence.started - _LAUNCH)
    noticed = latest(absence.noticed)
    if absence.cause is Cause.DIED and noticed is not None and not fences.isdisjoint(absence.noticed.lines):
        ends.append(noticed - _TO_FENCE)
    return min(ends)


def with_restarts(story: History, found: Departed) -> History:
    """Add the outages of a partition that the ends of its leaders prove, and that no line shows."""
    hidden = _hidden(story, found)
    alone = [
        (gap, outage)
        for before, after in pairwise(story.leaderships)
        if _is_only_lost_and_returned(before, after)
        for outage in (*_alone(story, before, after, found), *_restarted(story, before, after, found))
        for gap in story.gaps
        if gap.lines == (before.line, after.line)
    ]
    if not hidden and not alone:
        return story
    known = [gap for gap, _ in alone]
    # The election may show the same outage, without its begin.
    shown = {each.shown: each for each in story.outages if each.leader_before is None}
    whole = [_joined(outage, shown[outage.shown]) if outage.shown in shown else outage for _, outage in alone]
    again = [shown.get(outage.shown) for _, outage in alone]
    return replace(
        story,
        outages=(*(each for each in story.outages if each not in again), *hidden, *whole),
        gaps=[gap for gap in story.gaps if gap not in known],
    )


def _hidden(story: History, found: Departed) -> list[Outage]:
    """Return the outages between leaderships of consecutive leader epochs."""
    hidden: list[Outage] = []
    chain: list[Leadership] = []
    to_last: list[Outage] = []
    for before, after in pairwise(story.leaderships):
        chain.append(before)
        if not _is_next(before, after):
            chain, to_last = [], []
            continue
        outages = [*_outage(story, before, after, found), *_fenced(story, before, after, found)]
        if not outages and (outage := _elected_in_vain(story, chain, after, found)) is not None:
            # What the election of a broker that was gone seemed to end goes on.
            hidden = [each for each in hidden if each not in to_last]
            outages = [outage]
        hidden.extend(outages)
        to_last = outages
    return hidden


def _is_next(before: Leadership, after: Leadership) -> bool:
    """Return whether no change of the leader lies between two, and no line shows a time without one there."""
    return (
        before.epoch is not None and after.epoch == before.epoch + 1
        and before.leader != NO_LEADER != after.leader and not after.was_offline
        and not is_of_another_cluster(before.controller_epoch, after.controller_epoch)
    )  # fmt: skip


def _elected_in_vain(
    story: History, chain: Sequence[Leadership], after: Leadership, found: Departed
) -> Outage | None:
    """Return the time without a leader in which only brokers were elected whose processes had ended.

    From the last of their ends on, and that of the leader before them, nobody can have led.

    Args:
        story: The partition's history.
        chain: Leaderships of consecutive epochs, the last one just before ``after``.
        after: The next one.
        found: All absences.
    """
    gone: list[Absence] = []
    for before in reversed(chain):
        ended = _ended_between(before, after, found)
        own = ended or _away(before, after, found)
        if not own or _is_back(own[-1], after) or _end(own[-1], after) is None:
            return None
        gone.append(own[-1])
        if ended:
            break
    else:
        return None
    last = max(gone, key=_gone)
    begin = moment(None, _gone(last), last.gone.lines, "")
    # Until its own end a broker that was elected may have led.
    return Outage(
        story.life, begin, led(after), before.leader, after.leader, after.since,
        lines=(after.line, before.line), unseen=before.since,
    )  # fmt: skip


def _is_back(absence: Absence, after: Leadership) -> bool:
    return absence.started is not None and absence.started <= after.since


def _away(before: Leadership, after: Leadership, found: Departed) -> list[Absence]:
    """Return the absences of a broker that was elected after its process had ended, and led nothing."""
    away = found.away.get(before.leader)
    if away is None or before.led_at is not None:
        return []
    later = away.near(after.since)
    return [each for each in away.near(before.since) if each in later]


def without_dead_leaders(story: History, found: Departed) -> History:
    """Join the outages between which only a broker was elected that was gone, so that it never led.

    A controller elects such a broker before it notices the end of its process.
    """
    joined: list[Outage] = []
    for outage in sorted(story.outages, key=lambda each: by(each.begin)):
        if joined and _is_elected_in_vain(joined[-1], outage, story, found):
            joined[-1] = _joined(joined[-1], outage)
        else:
            joined.append(outage)
    return story if len(joined) == len(story.outages) else replace(story, outages=joined)


def _is_elected_in_vain(before: Outage, after: Outage, story: History, found: Departed) -> bool:
    elected, begin = before.shown, by(after.begin)
    if (
        before.leader_after is None or before.leader_after != after.leader_before
        or elected is None or latest(before.end) is not None
        or any(gap.until > elected and gap.since < begin for gap in story.gaps)
    ):  # fmt: skip
        return False
    if before.leader_after not in found.away:
        return False
    away = found.away[before.leader_after]
    then = away.near(begin)
    return any(each in then for each in away.near(elected))


def _joined(before: Outage, after: Outage) -> Outage:
    return replace(
        after, begin=before.begin, leader_before=before.leader_before, elected=before.elected,
        failed=before.failed + after.failed,
        lines=tuple(dict.fromkeys((*after.lines, *before.lines))),
    )  # fmt: skip


def _has_ended(absence: Absence) -> bool:
    """Return whether lines prove that the process ended."""
    if absence.cause in (Cause.UNKNOWN, Cause.FENCED):
        return absence.started is not None
    return absence.cause not in (Cause.LOST_OR_STOPPED, Cause.LOST_SESSION, Cause.UNREGISTERED)


def _ended_between(before: Leadership, after: Leadership, found: Departed) -> list[Absence]:
    """Return the absences of a leader whose process ended during its leadership."""
    ended = found.ended.get(before.leader, ())
    first, last = bisect_left(ended, before.since, key=_gone), bisect_right(ended, after.since, key=_gone)
    return [each for each in ended[first:last] if before.since <= (earliest(each.gone) or _gone(each))]


def _outage(story: History, before: Leadership, after: Leadership, found: Departed) -> list[Outage]:
    fitting = _ended_between(before, after, found)
    if not fitting:
        return []
    absence = fitting[-1]
    end = _end(absence, after)
    if end is None:
        return []
    begin = moment(None, latest(absence.gone), absence.gone.lines, "")
    lines = (after.line, before.line)
    return [Outage(story.life, begin, end, before.leader, after.leader, after.since, lines=lines)]


def _fenced(story: History, before: Leadership, after: Leadership, found: Departed) -> list[Outage]:
    """Return the time without a leader, at most, of a partition that a KRaft controller took from a broker.

    The broker led it at its last own line at the earliest until the controller fenced it. When it ceased to
    serve in between no line shows. Only the election, or the next leader's own line, shows that the
    leadership did not move before: others may learn of it later.
    """
    if before.leader == after.leader or after.elected is None is after.led_at:
        return []
    for each in found.fenced.get(before.leader, ()):
        noticed, back = latest(each.noticed), known_end(each)
        if (
            each.spoke is not None and noticed is not None and before.since <= each.spoke
            and noticed - CLOCKS <= after.since and (back is None or after.since <= back + CLOCKS)
        ):  # fmt: skip
            begin = moment(each.spoke, max(noticed, each.spoke), each.noticed.lines, "")
            lines = (after.line, before.line)
            end = led(after)
            return [Outage(story.life, begin, end, before.leader, after.leader, after.since, lines=lines)]
    return []


def _alone(story: History, before: Leadership, after: Leadership, found: Departed) -> list[Outage]:
    """Return the time without a leader of a partition whose only replica in sync was fenced and unfenced.

    A fenced broker leads nothing. Two changes lie between two states with the same broker alone in sync: one
    took its leadership, and one gave it back. Had another broker led between the two, the ISR would show it.
    """
    for each in found.fenced.get(before.leader, ()):
        noticed, back, spoke = latest(each.noticed), earliest(each.returned), each.spoke
        if spoke is None or noticed is None or back is None:
            continue
        if before.since <= spoke and back - CLOCKS <= after.since:
            begin = moment(spoke, max(noticed, spoke), each.noticed.lines, "")
            end = moment(back, latest(led(after)), led(after).lines, "")
            lines = (after.line, before.line)
            return [Outage(story.life, begin, end, before.leader, after.leader, after.since, lines=lines)]
    return []


def _restarted(story: History, before: Leadership, after: Leadership, found: Departed) -> list[Outage]:
    """Return the time without a leader of a partition whose only replica in sync ended and started again."""
    for each in _ended_between(before, after, found):
        if each.started is not None and _gone(each) <= each.started <= after.since:
            begin = moment(None, _gone(each), each.gone.lines, "")
            end = moment(each.started, latest(led(after)), led(after).lines, "")
            lines = (after.line, before.line)
            return [Outage(story.life, begin, end, before.leader, after.leader, after.since, lines=lines)]
    return []


def _is_only_lost_and_returned(before: Leadership, after: Leadership) -> bool:
    """Return whether between two leaderships of a broker that was alone in sync only one state can lie."""
    return (
        before.leader == after.leader
        and before.isr == after.isr == (before.leader,)
        and before.epoch is not None
        and after.epoch == before.epoch + 2
        and after.version is not None
        and after.version - 2 == before.last_version
    )


def _may_be_moved(absence: Absence, after: Leadership) -> bool:
    """Return whether another broker may have been elected while the leader before was there.

    A broker that stops in an orderly way hands its leaders over, and the first line about the next leader may
    be much later than its election. Only one that was elected after the end, or that began to lead after a
    death or at the fence of a controller of KRaft, shows that nobody led in between.
    """
    if after.elected is None:
        return after.led_at is None or not (absence.cause is Cause.DIED or _is_of_fence(absence, after))
    return absence.cause in ORDERLY and after.elected <= _gone(absence) + CLOCKS


def _is_of_fence(absence: Absence, after: Leadership) -> bool:
    """Return whether a leader began to lead when the one before was fenced, which had ended long before."""
    noticed = latest(absence.noticed)
    if absence.spoke is None or noticed is None or after.led_at is None or noticed <= _gone(absence) + CLOCKS:
        return False
    return noticed - CLOCKS <= after.since and after.led_at <= noticed + CLOCKS


def _end(absence: Absence, after: Leadership) -> Instant | None:
    """Return when the next leader led; None if the one before may have led on after its return."""
    is_same = after.leader == absence.broker
    if not is_same and _may_be_moved(absence, after):
        return None
    if not is_same and after.elected is None:
        end, fence = led(after), absence.noticed
        if absence.cause is Cause.DIED:
            return end
        return moment(latest(fence), latest(end), (*end.lines, *fence.lines), "")
    if absence.started is None or after.since <= absence.started:
        # A new leader epoch of the dead leader is no election: another replica left the ISR.
        return None if is_same else led(after)
    back, served = latest(absence.returned), earliest(absence.returned)
    # A leader elected before the dead one was back ends the outage; after that the dead one may have led.
    is_before = not is_same and served is not None and after.since <= served
    if not is_before and (not is_same or back is None or after.since > back + _ELECTION):
        return None
    # The new process may have led in the old leader epoch first, of which a line may be missing.
    return moment(absence.started, latest(led(after)), led(after).lines, "")
