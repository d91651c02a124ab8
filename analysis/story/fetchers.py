"""The replica fetcher threads that died before the replicas that they kept in sync fell out of sync.

A thread fetches from one leader for its broker. It is not started again until the broker starts or another
broker leads (``AbstractFetcherManager.addFetcherForPartitions`` takes the thread that it has for the leader).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.incident import TOGETHER, Incident, IncidentKind
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import STARTS
from barnabas.analysis.story.troubles import troubled_since

LAG = timedelta(minutes=1)
"""The longest time from the end of a replica's fetches to the ISR without it by default settings.

``replica.lag.time.max.ms`` is at most 30 s, and a leader looks for replicas that lag every half of that.
"""

_LEADER = re.compile(r"\[ReplicaFetcher replicaId=\d+, leaderId=(\d+),|\[ReplicaFetcherThread-\d+-(\d+)\]")


def with_dead_fetchers(made: Iterable[Incident], observed: Observed) -> Iterator[Incident]:
    """Add to replicas that fell out of sync the deaths of the threads that fetched them, if all had died."""
    for incident in made:
        found = lines_of_all(incident, partial(_death, incident, observed))
        yield replace(incident, fetchers=found) if found else incident


def lines_of_all(
    incident: Incident, line_of: Callable[[int, int], BrokerLine | None]
) -> tuple[BrokerLine, ...]:
    """Return a line about each broker whose replicas fell out of sync; none if one of them has no line.

    Args:
        incident: The incident.
        line_of: Returns the line about a broker and the leader from which it fetched; None if there is none.
    """
    shortage = incident.shortage
    if incident.kind is not IncidentKind.UNDER_REPLICATED or shortage is None:
        return ()
    lines = [line_of(broker, leader) for broker, leader in sorted(shortage.fallen)]
    found = tuple(each for each in lines if each is not None)
    return found if len(found) == len(lines) else ()


def with_other_deaths(made: Sequence[Incident], observed: Observed) -> list[Incident]:
    """Add incidents for the threads that died and that no other incident is about."""
    known = {line.line for incident in made for line in incident.fetchers}
    away = _away(made)
    groups: list[list[BrokerLine]] = []
    for line in sorted(observed.of_kind(BrokerKind.THREAD_DIED), key=_time):
        broker = line.subject
        if broker is None or leader_of(line) is None or line.line in known:
            continue
        if broker in away and away[broker].near(line.time):
            continue
        if groups and line.time <= groups[-1][-1].time + TOGETHER:
            groups[-1].append(line)
        else:
            groups.append([line])
    found = (
        Incident(IncidentKind.DEAD_FETCHER, group[0].time, None, fetchers=tuple(group)) for group in groups
    )
    return [*made, *found]


def _away(made: Iterable[Incident]) -> dict[int, Intervals[None]]:
    """Return when each broker was gone, or soon would be, so that a death of a thread is part of that."""
    spans: dict[int, list[tuple[datetime, datetime | None, None]]] = {}
    for incident in made:
        for each in incident.absences:
            spans.setdefault(each.broker, []).append((troubled_since(each), latest(each.returned), None))
    return {broker: Intervals(own) for broker, own in spans.items()}


def _time(line: BrokerLine) -> datetime:
    return line.time


def leader_of(line: BrokerLine) -> int | None:
    """Return the leader from which a thread that died had fetched; None if it was no replica fetcher."""
    found = _LEADER.search(line.line.text)
    return None if found is None else int(found[1] or found[2])


def _death(incident: Incident, observed: Observed, broker: int, leader: int) -> BrokerLine | None:
    """Return the line by which a thread of a broker died that fetched from a leader, if no start followed."""
    since, until = incident.since - LAG, incident.since + CLOCKS
    died = observed.about_within(broker, BrokerKind.THREAD_DIED, since, until)
    found = next((line for line in died if leader_of(line) == leader), None)
    if found is None:
        return None
    is_new = any(observed.about_within(broker, kind, found.time, until) for kind in STARTS)
    return None if is_new else found
