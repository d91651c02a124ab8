"""Times without a leader between two processes of one broker, which nobody noticed.

If all brokers start at the same time, the first controller finds all of them registered, and elects nobody:
each leads on in its old leader epoch, as its own line says. Until then its partitions had no leader.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.brokers import Absence
from barnabas.analysis.story.certainty import by, earliest, moment
from barnabas.analysis.story.leaderships import Leadership
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import History, Outage
from barnabas.analysis.story.restarts import Departed
from barnabas.analysis.story.runs import is_fenced_registration


def registrations(observed: Observed) -> dict[int, list[datetime]]:
    """Return when brokers registered in ZooKeeper by their own lines, by broker and in order.

    In KRaft a broker reads after its start who led when, and logs that it leads where it does no more.
    """
    found: dict[int, list[datetime]] = {}
    for line in observed.of_kind(BrokerKind.REGISTERED):
        if line.broker == line.subject is not None and not is_fenced_registration(line):
            found.setdefault(line.subject, []).append(line.time)
    for times in found.values():
        times.sort()
    return found


def with_led_on(story: History, found: Departed, registered: Mapping[int, Sequence[datetime]]) -> History:
    """Add the outages after which a new process of the leader led on, and that no line shows.

    Args:
        story: The history of a partition.
        found: The absences of brokers.
        registered: When brokers registered in ZooKeeper, by broker.
    """
    if not story.led:
        return story
    known = {outage.shown for outage in story.outages}
    nexts = [each.since for each in story.leaderships[1:]]
    outages = [
        outage
        for leadership, until in zip(story.leaderships, [*nexts, None], strict=True)
        for outage in _led_on(story, leadership, until, found, registered.get(leadership.leader, ()))
        if outage.shown not in known
    ]
    return replace(story, outages=(*story.outages, *outages)) if outages else story


def _led_on(
    story: History,
    leadership: Leadership,
    until: datetime | None,
    found: Departed,
    registered: Sequence[datetime],
) -> Iterator[Outage]:
    """Yield the outages of one leadership, each from the end of a process to the line of the next one."""
    own = [
        each
        for each in story.led
        if (each.leader, each.leader_epoch) == (leadership.leader, leadership.epoch)
        and leadership.since <= each.time
        and (until is None or each.time < until)
    ]
    ended = found.ended.get(leadership.leader, ())
    for before, after in pairwise(own):
        # A request to lead comes only to a broker that is registered.
        back = {
            each: since
            for each in ended
            if (since := _registered(each, registered)) is not None and since <= after.time
            if before.time <= (earliest(each.gone) or by(each.gone))
        }
        if back:
            first = min(back, key=lambda each: by(each.gone))
            begin = moment(earliest(first.gone), by(first.gone), first.gone.lines, "")
            end = moment(max(back.values()), after.time, (after.line,), "")
            lines = (after.line, before.line)
            yield Outage(
                story.life, begin, end, leadership.leader, leadership.leader, after.time, lines=lines
            )


def _registered(absence: Absence, registered: Sequence[datetime]) -> datetime | None:
    """Return when the next process registered; None if no line shows one."""
    if absence.started is None:
        return None
    index = bisect_left(registered, absence.started)
    return registered[index] if index < len(registered) else None
