"""The controllers among the brokers that left."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from itertools import zip_longest

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import ORDERLY
from barnabas.analysis.story.certainty import earliest, latest
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine


def with_controllers(found: Sequence[Absence], observed: Observed) -> list[Absence]:
    """Mark the absences of brokers that were the controller when they left.

    Args:
        found: The absences.
        observed: Everything in the lines.
    """
    marked, controllers = list(found), observed.controllers
    alive = _alive(found, _listed(observed.brokers))
    resigned = _resigned(observed.brokers)
    # A vote without a winner raises the epoch of KRaft, too.
    is_quorum = observed.is_kraft
    indexes: dict[int, list[int]] = {}
    for index, absence in enumerate(found):
        indexes.setdefault(absence.broker, []).append(index)
    for own, after in zip_longest(controllers, controllers[1:]):
        fitting = [
            index
            for index in indexes.get(own.broker, ())
            # Its successor is elected once its session is over, often before the loss of its replicas is
            # handled.
            if own.since < begin_of(found[index])
            # Of the epochs between two controllers, others may have been it.
            and (after is None or after.epoch == own.epoch + 1 or is_quorum)
            and (after is None or after.since >= alive[index])
            and not _is_between(
                resigned.get(own.broker, ()), own.since, _unstopped(found[index], alive[index])
            )
        ]
        if fitting:
            # A tenure ends once, with the absence nearest to the successor's election.
            end = own.since if after is None else after.since
            index = min(fitting, key=lambda index: abs(begin_of(found[index]) - end))
            proof = tuple(dict.fromkeys((*marked[index].lines, *own.lines)))
            marked[index] = replace(marked[index], was_controller=True, lines=proof)
    return marked


def _alive(found: Sequence[Absence], listed: Mapping[int, Sequence[datetime]]) -> list[datetime]:
    """Return for each absence the moment until which its broker was surely alive, or in contact.

    A broker that stops resigns as the controller before its process ends.
    """
    returns: dict[int, list[datetime]] = {}
    for absence in found:
        if (back := latest(absence.returned)) is not None:
            returns.setdefault(absence.broker, []).append(back)
    for broker, times in listed.items():
        returns.setdefault(broker, []).extend(times)
    for backs in returns.values():
        backs.sort()
    return [
        absence.stopping or earliest(absence.gone) or _in_contact(absence, returns.get(absence.broker, []))
        for absence in found
    ]


def _in_contact(absence: Absence, shown: Sequence[datetime]) -> datetime:
    """Return the moment until which a broker was in contact, if no line of its own shows one.

    A broker loses its registration together with ``/controller``, so one that a list of a controller still
    names, or names again, after a successor's election was lost later, and as a plain broker.
    """
    begin = begin_of(absence)
    before = shown[: bisect_right(shown, begin)][-1:]
    return max((begin - CONTACT_WINDOW, *before))


def _listed(lines: Iterable[BrokerLine]) -> dict[int, list[datetime]]:
    """Return when lists of another broker, as the controller, named each broker as registered."""
    found: dict[int, list[datetime]] = {}
    for line in lines:
        if line.kind == BrokerKind.BROKERS_CHANGED:
            for broker in {*line.live, *line.added} - {line.broker, *line.bounced}:
                found.setdefault(broker, []).append(line.time)
    return found


def _resigned(lines: Iterable[BrokerLine]) -> dict[int, list[datetime]]:
    """Return when each broker logged that it resigned as the controller, sorted."""
    found: dict[int, list[datetime]] = {}
    for line in lines:
        if line.kind == BrokerKind.CONTROLLER_RESIGNED and line.subject is not None:
            found.setdefault(line.subject, []).append(line.time)
    return {broker: sorted(times) for broker, times in found.items()}


def _unstopped(absence: Absence, alive: datetime) -> datetime:
    """Return the moment before which a resignation was no part of the broker's departure."""
    if absence.stopping is not None:
        return absence.stopping
    return alive - (CONTACT_WINDOW if absence.cause in ORDERLY else CLOCKS)


def _is_between(times: Sequence[datetime], since: datetime, until: datetime) -> bool:
    index = bisect_left(times, since)
    return index < len(times) and times[index] < until
