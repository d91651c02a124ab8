"""Times without a leader that only the end of a broker proves.

If nobody was there to notice, or a broker was back before anybody did, no line says that a partition had no
leader. Yet the process that led it had ended, and where leader epochs follow each other no other broker led.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, known_end
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import Instant, by, earliest, latest, moment
from barnabas.analysis.story.leaderships import Leadership, is_of_another_cluster, led
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import History, Outage
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, LedAgain

_ELECTION = timedelta(seconds=30)
"""The longest time from a broker's return to its election; a later one is not because of the return."""


class Departed(NamedTuple):
    """The absences that may have taken leaderships, by broker.

    Attributes:
        ended: Those whose process ended, as lines prove, by the latest moment of the end.
        fenced: Those that a KRaft controller fenced, while the process lived on and registered again, or
            nothing shows that it lived on or ended.
    """

    ended: Mapping[int, Sequence[Absence]]
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
        elif each.cause is Cause.LOST_SESSION or not by_fence.isdisjoint(each.noticed.lines):
            fenced.setdefault(each.broker, []).append(each)
    return Departed({broker: sorted(own, key=_gone) for broker, own in ended.items()}, fenced)


def _gone(absence: Absence) -> datetime:
    return by(absence.gone)


def _has_ended(absence: Absence) -> bool:
    """Return whether lines prove that the process ended."""
    if absence.cause is Cause.UNKNOWN:
        return absence.started is not None
    return absence.cause not in (Cause.LOST_OR_STOPPED, Cause.LOST_SESSION, Cause.UNREGISTERED)


def with_restarts(story: History, found: Departed) -> History:
    """Add the outages of a partition that the ends of its leaders prove, and that no line shows."""
    hidden = [
        outage
        for before, after in pairwise(story.leaderships)
        if _is_next(before, after)
        for outage in (*_ended(story, before, after, found), *_fenced(story, before, after, found))
    ]
    alone = [
        (outage, (before.line, after.line))
        for before, after in pairwise(story.leaderships)
        if _is_only_lost_and_returned(before, after)
        for outage in _restarted(story, before, after, found)
    ]
    if not hidden and not alone:
        return story
    outages, known = [outage for outage, _ in alone], [lines for _, lines in alone]
    gaps = [gap for gap in story.gaps if gap.lines not in known]
    return replace(story, outages=(*story.outages, *hidden, *outages), gaps=gaps)


def _is_only_lost_and_returned(before: Leadership, after: Leadership) -> bool:
    """Return whether between two leaderships of a broker that was alone in sync only one state can lie."""
    return (
        before.leader == after.leader and before.isr == after.isr == (before.leader,)
        and before.epoch is not None and after.epoch == before.epoch + 2
        and after.version is not None and after.version - 2 == before.last_version
    )  # fmt: skip


def _restarted(story: History, before: Leadership, after: Leadership, found: Departed) -> Iterator[Outage]:
    """Yield the time without a leader of a partition whose only replica in sync ended and started again."""
    for each in _ends_during(before, after, found)[:1]:
        if each.started is not None and _gone(each) <= each.started <= after.since:
            begin = moment(None, _gone(each), each.gone.lines, "")
            end = moment(each.started, latest(led(after)), led(after).lines, "")
            yield _outage(story, before, after, begin, end)


def _is_next(before: Leadership, after: Leadership) -> bool:
    """Return whether no change of the leader lies between two, and no line shows a time without one there."""
    return (
        before.epoch is not None and after.epoch == before.epoch + 1
        and before.leader != NO_LEADER != after.leader and not after.was_offline
        and not is_of_another_cluster(before.controller_epoch, after.controller_epoch)
    )  # fmt: skip


def _ended(story: History, before: Leadership, after: Leadership, found: Departed) -> Iterator[Outage]:
    """Yield the outage after the last end of a leader's process during its leadership."""
    own = _ends_during(before, after, found)
    end = _end(own[-1], after) if own else None
    if end is not None:
        begin = moment(None, _gone(own[-1]), own[-1].gone.lines, "")
        yield _outage(story, before, after, begin, end)


def _ends_during(before: Leadership, after: Leadership, found: Departed) -> list[Absence]:
    """Return the absences of a leader whose process ended during its leadership."""
    ended = found.ended.get(before.leader, ())
    first, last = bisect_left(ended, before.since, key=_gone), bisect_right(ended, after.since, key=_gone)
    return [each for each in ended[first:last] if before.since <= (earliest(each.gone) or _gone(each))]


def _outage(
    story: History, before: Leadership, after: Leadership, begin: Instant, end: Instant
) -> Outage:  # fmt: skip
    lines = (after.line, before.line)
    return Outage(story.life, begin, end, before.leader, after.leader, after.since, lines=lines)


def _fenced(story: History, before: Leadership, after: Leadership, found: Departed) -> Iterator[Outage]:
    """Yield the time without a leader, at most, of a partition that a KRaft controller took from a broker.

    The broker led it at its last own line at the earliest until the controller fenced it. When it ceased to
    serve in between no line shows. Only the election, or the next leader's own line, shows that the
    leadership did not move before: others may learn of it later.
    """
    if before.leader == after.leader or after.elected is None is after.led_at:
        return
    for each in found.fenced.get(before.leader, ()):
        noticed, back = latest(each.noticed), known_end(each)
        if (
            each.spoke is not None and noticed is not None and before.since <= each.spoke
            and noticed - CLOCKS <= after.since and (back is None or after.since <= back + CLOCKS)
        ):  # fmt: skip
            begin = moment(each.spoke, max(noticed, each.spoke), each.noticed.lines, "")
            yield _outage(story, before, after, begin, led(after))
            return


def _end(absence: Absence, after: Leadership) -> Instant | None:
    """Return when the next leader led; None if the one before may have led on, or was moved before its end.

    A broker that stops in an orderly way hands its leaders over, and the first line about the next leader may
    be much later than its election. Only one that was elected after the end, or that began to lead after a
    death, shows that nobody led in between. A new leader epoch of the same leader is no election: another
    replica left the ISR.
    """
    back, served = latest(absence.returned), earliest(absence.returned)
    is_restarted = absence.started is not None and absence.started < after.since
    again = moment(absence.started, latest(led(after)), led(after).lines, "")
    if after.leader == absence.broker:
        # The new process may have led in the old leader epoch first, of which a line may be missing.
        return again if is_restarted and back is not None and after.since <= back + _ELECTION else None
    if after.elected is None:
        return led(after) if absence.cause is Cause.DIED and after.led_at is not None else None
    if absence.cause in ORDERLY and after.elected <= _gone(absence) + CLOCKS:
        return None
    if not is_restarted:
        return led(after)
    # A leader elected before the dead one was back ends the outage; after that the dead one may have led.
    return again if served is not None and after.since <= served else None


def with_led_on(story: History, found: Departed, observed: Observed) -> History:
    """Add the outages between two processes of a leader that nobody noticed.

    If all brokers start at the same time, the first controller finds all of them registered, and elects
    nobody: each leads on in its old leader epoch, as its own line says. Until then its partitions had no
    leader.

    Args:
        story: The history of a partition.
        found: The absences of brokers.
        observed: Everything in the lines.
    """
    known = {outage.shown for outage in story.outages}
    own: dict[tuple[int, int | None], list[LedAgain]] = {}
    for line in story.led:
        own.setdefault((line.leader, line.leader_epoch), []).append(line)
    outages = []
    for (leader, _), lines in own.items():
        for before, after in pairwise(lines):
            # A request to lead comes only to a broker that is registered.
            back = {
                each: since for each in found.ended.get(leader, ())
                if (since := _registered(each, after.time, observed)) is not None
                and before.time <= (earliest(each.gone) or _gone(each))
            }  # fmt: skip
            if back and after.time not in known:
                left = min(back, key=_gone).gone
                end = moment(max(back.values()), after.time, (after.line,), "")
                proof = (after.line, before.line)
                outages.append(Outage(story.life, left, end, leader, leader, after.time, lines=proof))
    return replace(story, outages=(*story.outages, *outages)) if outages else story


def _registered(absence: Absence, until: datetime, observed: Observed) -> datetime | None:
    """Return when the next process registered in ZooKeeper; None if no line of it until then shows that.

    In KRaft a broker reads after its start who led when, and logs that it leads where it does no more.
    """
    if absence.started is None or observed.is_kraft:
        return None
    known = observed.about_within(absence.broker, BrokerKind.REGISTERED, absence.started, until)
    return next((line.time for line in known if line.broker == absence.broker), None)
