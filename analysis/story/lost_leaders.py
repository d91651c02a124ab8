"""The contacts with leaders that brokers lost when their replicas fell out of sync."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from functools import partial

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.contacts import may_be_idle
from barnabas.analysis.story.fetchers import LAG, lines_of_all
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine

_AFTER = timedelta(seconds=30)
"""The time after which a request without an answer is given up (``replica.socket.timeout.ms``).

A leader that looks for lagging replicas after 10 s, as up to 2.4, is faster than that.
"""


def with_lost_leaders(made: Iterable[Incident], observed: Observed) -> Iterator[Incident]:
    """Add to replicas that fell out of sync the leaders with which their brokers lost contact.

    Nothing is added where one of the brokers says nothing of that: the cause may be another one.
    """
    for incident in made:
        has_cause = incident.shortage is not None and incident.shortage.causes
        found = () if has_cause else lines_of_all(incident, partial(_contact, incident, observed))
        yield replace(incident, lost_leaders=found) if found else incident


def _contact(incident: Incident, observed: Observed, broker: int, leader: int) -> BrokerLine | None:
    """Return a broker's first line that it lost contact with a leader at about the time of an incident."""
    since, until = incident.since - LAG, incident.since + _AFTER
    lost = observed.about_within(leader, BrokerKind.CONTACT_LOST, since, until)
    own = (line for line in lost if line.broker == broker and not may_be_idle(line, observed))
    return next(own, None)
