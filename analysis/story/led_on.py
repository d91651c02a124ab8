"""Times without a leader between two processes of one broker, which nobody noticed.

If all brokers start at the same time, the first controller finds all of them registered, and elects nobody:
each leads on in its old leader epoch, as its own line says. Until then its partitions had no leader.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import by, earliest, moment
from barnabas.analysis.story.leaderships import Leadership
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Outage
from barnabas.analysis.story.restarts import Departed
from barnabas.analysis.story.rows import LedAgain
from barnabas.analysis.story.runs import is_fenced_registration


def with_led_on(story: History, found: Departed, observed: Observed) -> History:
    """Add the outages after which a new process of the leader led on, and that no line shows.

    Args:
        story: The history of a partition.
        found: The absences of brokers.
        observed: Everything in the lines.
    """
    if not story.led:
        return story
    known = {outage.shown for outage in story.outages}
    nexts = [each.since for each in story.leaderships[1:]]
    outages = [
        outage
        for leadership, until in zip(story.leaderships, [*nexts, None], strict=True)
        for outage in _led_on(story, leadership, until, found, observed)
        if outage.shown not in known
    ]
    return replace(story, outages=(*story.outages, *outages)) if outages else story


def _led_on(
    story: History,
    leadership: Leadership,
    until: datetime | None,
    found: Departed,
    observed: Observed,
) -> Iterator[Outage]:
    """Yield the outages of one leadership, each from the end of a process to the line of the next one."""
    ended = found.ended.get(leadership.leader, ())
    if not ended:
        return
    first = bisect_left(story.led, leadership.since, key=_time)
    last = len(story.led) if until is None else bisect_left(story.led, until, key=_time)
    own = [
        each
        for each in story.led[first:last]
        if (each.leader, each.leader_epoch) == (leadership.leader, leadership.epoch)
    ]
    for before, after in pairwise(own):
        # A request to lead comes only to a broker that is registered.
        back = {
            each: since
            for each in ended
            if (since := _registered(each, after.time, observed)) is not None
            if before.time <= (earliest(each.gone) or by(each.gone))
        }
        if back:
            left = min(back, key=lambda each: by(each.gone)).gone
            begin = moment(earliest(left), by(left), left.lines, "")
            end = moment(max(back.values()), after.time, (after.line,), "")
            lines = (after.line, before.line)
            yield Outage(
                story.life, begin, end, leadership.leader, leadership.leader, after.time, lines=lines
            )


def _registered(absence: Absence, until: datetime, observed: Observed) -> datetime | None:
    """Return when the next process registered in ZooKeeper; None if no line of it until then shows that.

    In KRaft a broker reads after its start who led when, and logs that it leads where it does no more.
    """
    if absence.started is None:
        return None
    known = observed.about_within(absence.broker, BrokerKind.REGISTERED, absence.started, until)
    own = (line.time for line in known if line.broker == absence.broker and not is_fenced_registration(line))
    return next(own, None)


def _time(line: LedAgain) -> datetime:
    return line.time
