"""The contacts with a broker that others lost, which show until when it lived."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind, Contact
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import ENDS, SERVES, STARTS, STOP

CONTACT_WINDOW = timedelta(seconds=60)
"""The longest time before the notice in which a lost contact counts; earlier ones were recovered from."""

_RETRY = timedelta(seconds=20)
"""The longest time between attempts to connect again, and from the end of a broker to the notice.

A session lasts 18 s by default, 6 s up to 2.4, and ends with a tick of ZooKeeper (2 s).
"""

_CLOSED_PORT = (Contact.REFUSED, Contact.UNREACHABLE)

_BEFORE_AN_ANSWER = "was disconnected before the response was read"

_REQUEST_TIMEOUT = timedelta(seconds=30)
"""The time after which Kafka gives up a request (replica.socket.timeout.ms, controller.socket.timeout.ms)."""

_REFUSED_BY = timedelta(seconds=2)
"""The longest time until an attempt to connect fails at a host that is up; a fetcher waits 1 s before it."""

_SESSION_TIMEOUT = "zookeeper.session.timeout.ms="

_CONNECTION_DELAY = timedelta(seconds=1)
"""A process that ends closes its connections within this time, so it lived until then."""


def lost_contacts(
    broker: int, last: datetime | None, first: datetime, observed: Observed
) -> list[BrokerLine]:
    """Return the survivors' lost contacts from the last sign of the broker to the first one of its loss."""
    since = first - CONTACT_WINDOW if last is None else max(last, first - CONTACT_WINDOW)
    lost = [
        line
        for line in observed.about_within(broker, BrokerKind.CONTACT_LOST, since, first)
        if line.broker != broker and since < line.time and not is_between_lives(line, observed)
    ]
    answers = observed.about_within(broker, BrokerKind.CONTACT_MADE, since, first)
    witnessed = _without_cut_off(lost, answers, observed)
    return _not_recovered([line for line in witnessed if not _has_answered(line, answers)], first)


def _without_cut_off(
    lost: Sequence[BrokerLine], answers: Sequence[BrokerLine], observed: Observed
) -> list[BrokerLine]:
    """Leave out the survivors that had no way to a broker while another one was still in contact with it.

    Their lost contacts say nothing about the broker's end, before which they could not reach it either.
    """
    alive: dict[int | None, datetime] = {}
    times = [(each.broker, last_contact(each)) for each in answers]
    times.extend(
        (each.broker, until)
        for each in lost
        if not stood_still(each, observed) and (until := open_until(each, observed)) is not None
    )
    for survivor, time in times:
        alive[survivor] = max(time, alive.get(survivor, time))
    if not alive:
        return list(lost)
    last = max(alive.values())
    cut_off = {
        each.broker
        for each in lost
        if each.time + CLOCKS < last and not may_be_idle(each, observed)
        and alive.get(each.broker, each.time) <= each.time
    }  # fmt: skip
    return [each for each in lost if each.broker not in cut_off]


def _has_answered(lost: BrokerLine, answers: Sequence[BrokerLine]) -> bool:
    """Return whether a broker answered after a contact with it was lost, by its writer's clock or another."""
    return any(
        last_contact(each) > lost.time + (timedelta(0) if each.broker == lost.broker else CLOCKS)
        for each in answers
    )


def _not_recovered(lost: list[BrokerLine], first: datetime) -> list[BrokerLine]:
    """Return the last of the lost contacts between which nobody can have been in contact again.

    Who cannot connect tries again, and logs it. An open connection that ended may have been opened again at
    once, without a line.
    """
    until = first
    for index in range(len(lost) - 1, -1, -1):
        if until - lost[index].time > _RETRY and (until < first or lost[index].contact not in _CLOSED_PORT):
            return lost[index + 1 :]
        until = lost[index].time
    return lost


def is_between_lives(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether the writer of a line was stopping or starting, so that it lost its contacts itself."""
    if contact.broker is None:
        return False
    turns = [
        (lines[-1].time, kind in SERVES)
        for kind in (*STOP, *ENDS, *STARTS, *SERVES)
        if (lines := observed.about_within(contact.broker, kind, None, contact.time))
    ]
    turned, serves = max(turns, default=(None, True))
    if turned is None or serves:
        return False
    served = observed.last_served(contact.broker, contact.time)
    return served is None or served <= turned


def stood_still(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether a survivor was cut off or stood still itself, so that it may have noticed late."""
    since, until = contact.time - CONTACT_WINDOW, contact.time + CLOCKS
    return any(
        line.broker == contact.broker
        for kind in (BrokerKind.SESSION_SILENT, BrokerKind.SESSION_EXPIRED)
        for line in observed.about_within(contact.broker, kind, since, until)
    )


def may_be_earlier(contact: BrokerLine, present: datetime | None, observed: Observed) -> bool:
    """Return whether a contact may have been lost with an earlier process, as its writer stood still."""
    is_recent = present is not None and present >= contact.time - CONTACT_WINDOW
    return is_recent and stood_still(contact, observed)


def is_early(contact: BrokerLine, noticed: datetime, observed: Observed) -> bool:
    """Return whether a survivor lost contact too long before the notice for an end of the broker.

    The cluster notices an end when the session is over. Who lost contact longer before was cut off itself.
    """
    return contact.time < noticed - _RETRY and not _has_long_sessions(observed)


def may_be_idle(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether a connection may have ended because nothing was sent over it (connections.max.idle.ms).

    A request in flight shows that it was in use. Where the broker is gone, the next attempt to connect fails,
    which has a line of its own.
    """
    return contact.contact == Contact.CLOSED and open_until(contact, observed) is None


def open_until(contact: BrokerLine, observed: Observed) -> datetime | None:
    """Return until when a lost connection surely was open, so that the broker lived; None if that is unknown.

    Kafka logs each failure to connect again in the same words as the end of an open connection. A request
    that was cancelled in flight shows that the connection was open when it was sent. Up to 3.0 a request that
    got no answer in time is logged as one whose connection ended (``NetworkClient.handleTimedOutRequests``).
    """
    since, until = contact.time - _CONNECTION_DELAY, contact.time + _CONNECTION_DELAY
    made = observed.about_within(contact.subject, BrokerKind.CONTACT_MADE, since, until)
    # A contact that was made later is one with a new process, unless the line is about the end of this one.
    before = [line for line in made if line.duration_ms is not None or line.time <= contact.time]
    if any(line.broker == contact.broker and last_contact(line) >= since for line in before):
        return since
    if contact.contact != Contact.DISCONNECTED:
        return None
    return since - _REQUEST_TIMEOUT if _may_be_timeout(contact, observed) else since


def _may_be_timeout(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether a connection may have ended because a request got no answer in time.

    Only a session that outlives a request leaves the time for that. Where no line says how long sessions
    are, a host that answers no attempt to connect shows that it need not have closed the connection either.
    """
    if _BEFORE_AN_ANSWER not in (contact.error or ""):
        return False
    has_long = _has_long_sessions(observed)
    return _is_host_silent(contact, observed) if has_long is None else has_long


def _is_host_silent(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether a survivor's next attempt to connect, after it lost a connection, took long to fail.

    Where only the process is gone, its host refuses at once. No attempt in the lines shows neither.
    """
    until = contact.time + _RETRY
    for each in observed.about_within(contact.subject, BrokerKind.CONTACT_LOST, contact.time, until):
        if each.broker == contact.broker and each.contact != Contact.DISCONNECTED:
            return each.time > contact.time + _REFUSED_BY
    return False


def _has_long_sessions(observed: Observed) -> bool | None:
    """Return whether a broker's session may outlive a request, so that its loss is noticed after a timeout.

    The default is 18 s, and was 6 s up to 2.4. None stands for no line about a broker's settings.
    """
    timeouts = [
        setting.removeprefix(_SESSION_TIMEOUT)
        for broker in (None, *observed.spoken)
        for line in observed.about(broker, BrokerKind.CONFIGURED)
        for setting in line.settings if setting.startswith(_SESSION_TIMEOUT)
    ]  # fmt: skip
    if not timeouts:
        return None
    return any(each.isdigit() and timedelta(milliseconds=int(each)) >= _REQUEST_TIMEOUT for each in timeouts)


def shows_end(contact: BrokerLine, observed: Observed) -> bool:
    """Return whether a process that stands still keeps the contact that was lost."""
    may_stand = contact.contact in (Contact.TIMED_OUT, Contact.UNREACHABLE) or (
        contact.contact == Contact.DISCONNECTED and _may_be_timeout(contact, observed)
    )
    return contact.broker != contact.subject and not may_stand


def last_contact(line: BrokerLine) -> datetime:
    """Return the last contact, by a line about the silence after it."""
    return line.time - timedelta(milliseconds=line.duration_ms or 0)
