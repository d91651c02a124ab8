"""Brokers with which others lost contact, though no line shows whether they were lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.certainty import latest
from barnabas.analysis.story.contacts import (
    CONTACT_WINDOW,
    is_between_lives,
    lost_contacts,
    may_be_idle,
    open_until,
)
from barnabas.analysis.story.incident import Incident, IncidentKind, Unreached
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import SERVES, STARTS

_PRESENT = (
    *STARTS, *SERVES, BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED, BrokerKind.BROKER_UNFENCED,
    BrokerKind.CONTACT_MADE,
)  # fmt: skip
"""The kinds of lines about a broker that was there, or came."""

_ATTEMPTS = (Contact.REFUSED, Contact.TIMED_OUT, Contact.UNREACHABLE, Contact.UNKNOWN)


def with_lost_followers(made: Iterable[Incident], observed: Observed) -> Iterator[Incident]:
    """Add to replicas that fell out of sync the contacts with their brokers that others lost before.

    Nothing is added where one of the brokers was in contact with all: the cause may be another one.
    """
    for incident in made:
        shortage = incident.shortage
        if incident.kind is not IncidentKind.UNDER_REPLICATED or shortage is None or shortage.causes:
            yield incident
            continue
        contacts = [_first_lost(broker, incident.since, observed) for broker in _fallen(incident)]
        is_whole = bool(contacts) and all(contacts) and not (incident.fetchers or incident.lost_leaders)
        found = tuple(each for own in contacts for each in own) if is_whole else ()
        yield replace(incident, lost_followers=found)


def _fallen(incident: Incident) -> list[int]:
    return [] if incident.shortage is None else sorted({broker for broker, _ in incident.shortage.fallen})


def _first_lost(broker: int, since: datetime, observed: Observed) -> tuple[BrokerLine, ...]:
    """Return the first line of each broker that lost contact with another one for good."""
    lost = lost_contacts(broker, None, since, observed)
    first: dict[int, BrokerLine] = {}
    for line in lost:
        if line.broker is not None and not may_be_idle(line, observed):
            first.setdefault(line.broker, line)
    return tuple(first.values())


def with_unreached(made: Sequence[Incident], observed: Observed) -> list[Incident]:
    """Add an incident for each broker that others could not reach any more, if no incident is about it."""
    gone: dict[int, list[Absence]] = {}
    for incident in made:
        for each in incident.absences:
            gone.setdefault(each.broker, []).append(each)
    known = [one for broker in _subjects(observed) if (one := _unreached(broker, made, gone, observed))]
    return [
        *made,
        *(
            Incident(
                IncidentKind.OUT_OF_CONTACT, each.first[0].time, None, unreached=each,
                lines=(*(line.line for line in each.first), each.tried.line),
            )
            for each in known
        ),
    ]  # fmt: skip


def _subjects(observed: Observed) -> list[int]:
    lost = observed.of_kind(BrokerKind.CONTACT_LOST)
    return sorted({line.subject for line in lost if line.subject is not None})


def _unreached(
    broker: int, made: Sequence[Incident], gone: Mapping[int, Sequence[Absence]], observed: Observed
) -> Unreached | None:
    """Return how others lost contact with a broker for good; None if it may have been there after that."""

    def counts(line: BrokerLine) -> bool:
        return (
            line.broker is not None
            and line.broker != broker
            and not is_between_lives(line, observed)
            and not _is_away(line.time, gone.get(line.broker, ()))
        )

    lost = observed.about(broker, BrokerKind.CONTACT_LOST)
    tried = next((line for line in reversed(lost) if counts(line)), None)
    if tried is None or tried.contact not in _ATTEMPTS:
        return None
    begin = tried.time - CONTACT_WINDOW
    within = observed.about_within(broker, BrokerKind.CONTACT_LOST, begin, tried.time)
    own = [line for line in within if counts(line)]
    first: dict[int | None, BrokerLine] = {}
    for line in own:
        if not may_be_idle(line, observed):
            first.setdefault(line.broker, line)
    since = min((line.time for line in first.values()), default=tried.time)
    if (
        tried.time <= since
        or _is_away(since, gone.get(broker, ()))
        or _is_known(broker, since, made, observed)
    ):
        return None
    spoke = observed.last_spoken(broker, since + CLOCKS)
    # A node that nobody has seen yet may not have started.
    if spoke is None and not any(open_until(line, observed) for line in own):
        return None
    return Unreached(broker, tuple(first.values()), tried, spoke)


def _is_away(time: datetime, absences: Iterable[Absence]) -> bool:
    """Return whether a broker with some absences was gone at a moment, or may have been."""
    return any(
        begin_of(each) - CONTACT_WINDOW <= time and ((back := latest(each.returned)) is None or time <= back)
        for each in absences
    )


def _is_known(broker: int, since: datetime, made: Iterable[Incident], observed: Observed) -> bool:
    """Return whether another incident is about a loss of contact, or the broker was there after it."""
    if not observed.knows_until(since + CLOCKS) or observed.has_spoken_since(broker, since + CLOCKS):
        return True
    if any(broker in (*line.added, *line.live) for line in observed.of_kind(BrokerKind.BROKERS_CHANGED)
           if line.time > since):  # fmt: skip
        return True
    if any(observed.about_within(broker, kind, since + CLOCKS, None) for kind in _PRESENT):
        return True
    return any(broker in incident.offline or broker in _fallen(incident) for incident in made)
