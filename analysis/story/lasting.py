"""Partitions that have no leader, and brokers that are gone, when the logs end.

No line proves that nothing happened after the last one about them. But an operator must read first that no
line shows a next leader, or a return: as far as the logs show.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.accounts import Account
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Unknown, latest
from barnabas.analysis.story.clocks import Clocks
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Life, Outage

_STARTED = timedelta(seconds=30)
"""The time from a loss to the earliest return that is expected; a broker takes about that long to start."""


def with_lasting(account: Account, clocks: Clocks) -> Account:
    """Add to what is open when the logs end that it is. By clocks that differ the logs have no one end."""
    end = None if clocks.differences else end_of(account.observed)
    if end is None:
        return account
    latest_of: dict[Life, datetime] = {}
    for story in account.stories:
        shown = [each.since for each in story.leaderships]
        latest_of[story.life] = max((*shown, *filter(None, map(_begin, story.outages))), default=end)

    def lasting(outage: Outage) -> Outage:
        begin = latest(outage.begin)
        is_last = begin is not None and latest_of.get(outage.life, begin) <= begin < end
        is_open = outage.leader_after is None and outage.shown is None and not outage.deleted
        return replace(outage, lasting=end) if is_open and is_last else outage

    return replace(
        account,
        found=[
            replace(each, lasting=end) if _is_open(each, end, account.observed) else each
            for each in account.found
        ],
        charged={index: [lasting(each) for each in own] for index, own in account.charged.items()},
        free=[lasting(each) for each in account.free],
    )


def end_of(observed: Observed) -> datetime | None:
    """Return the time of the last line of all logs that is at hand; None if there is none."""
    spoken = (times[-1] for times in observed.spoken.values() if len(times))
    shown = (each.first_logged for each in observed.states)
    return max((*spoken, *shown, *(each.time for each in observed.brokers)), default=None)


def _begin(outage: Outage) -> datetime | None:
    return latest(outage.begin)


def _is_open(absence: Absence, end: datetime, observed: Observed) -> bool:
    """Return whether a broker that was lost is gone when the logs end, long enough after to have returned.

    What a broker writes after its loss may show a return.
    """
    is_there = absence.cause in (Cause.LOST_OR_STOPPED, Cause.LOST_SESSION, Cause.UNREGISTERED)
    is_open = isinstance(absence.returned, Unknown) and absence.started is None
    is_silent = not observed.has_spoken_since(absence.broker, begin_of(absence) + CLOCKS)
    return is_open and not is_there and is_silent and end > begin_of(absence) + _STARTED
