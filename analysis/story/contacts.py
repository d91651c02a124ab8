"""The contacts with a broker that others lost, which show by when it was gone."""

from __future__ import annotations

from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import ENDS, SERVES, STARTS, STOP

CONTACT_WINDOW = timedelta(seconds=60)
"""The longest time between a lost contact, or the last sign of life, and what it may explain."""

_NOTICE = timedelta(seconds=20)
"""The longest time from the end of a broker to the notice: a session (18 s by default), and a tick."""


def lost_contacts(
    broker: int, since: datetime | None, first: datetime, observed: Observed
) -> list[BrokerLine]:
    """Return the contacts that survivors lost from the last sign of the broker to the first one of its loss.

    A survivor that stands still, starts or stops loses its contacts itself. A connection that nothing was
    sent over is closed without a cause (``connections.max.idle.ms``).

    Args:
        broker: The broker.
        since: The last sign of it; None if there is none.
        first: The first sign that it is gone.
        observed: Everything in the lines.
    """
    begin = first - _NOTICE if since is None else max(since, first - _NOTICE)
    made = observed.about_within(broker, BrokerKind.CONTACT_MADE, begin, first)
    begin = max((begin, *map(last_contact, made)))
    return [
        line
        for line in observed.about_within(broker, BrokerKind.CONTACT_LOST, begin, first)
        if line.broker != broker and begin < line.time and line.contact != Contact.CLOSED
        and not _is_between_lives(line, observed) and not _stood_still(line, observed)
    ]  # fmt: skip


def _is_between_lives(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether the writer of a line was stopping or starting."""
    turns = [
        (lines[-1].time, kind in SERVES)
        for kind in (*STOP, *ENDS, *STARTS, *SERVES)
        if (lines := observed.about_within(contact.broker, kind, None, contact.time))
    ]
    turned, serves = max(turns, default=(None, True))
    if turned is None or serves or contact.broker is None:
        return False
    served = observed.last_served(contact.broker, contact.time)
    return served is None or served <= turned


def _stood_still(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether the writer of a line was cut off or stood still itself."""
    since, until = contact.time - CONTACT_WINDOW, contact.time + CLOCKS
    return any(
        line.broker == contact.broker
        for kind in (BrokerKind.SESSION_SILENT, BrokerKind.SESSION_EXPIRED)
        for line in observed.about_within(contact.broker, kind, since, until)
    )


def last_contact(line: BrokerLine) -> datetime:
    """Return the last contact, by a line about the silence after it."""
    return line.time - timedelta(milliseconds=line.duration_ms or 0)
