"""Partitions that have no leader, and brokers that are gone, still at the end of the logs.

No line proves that nothing happened. But where a log goes on to the end that would show the next leader, or
the return, an operator must read first that it does not: this is a bound, as far as the logs show.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.accounts import Account
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Unknown, latest
from barnabas.analysis.story.clocks import Clocks
from barnabas.analysis.story.leaderships import is_of_another_cluster
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import History, Life, Outage
from barnabas.analysis.story.rows import NO_LEADER, RECORD, Controller
from barnabas.analysis.story.runs import ASKED

_STARTED = timedelta(seconds=30)
"""The time from a loss to the earliest return that is expected; a broker takes about that long to start."""


def with_lasting(account: Account, clocks: Clocks) -> Account:
    """Add to the last time without a leader of each partition that it goes on at the end of the logs.

    The same is added to the absences of brokers of which no line shows a return.

    The log of the broker that shows its begin shows its end, too, while that broker is there: it is the
    controller, or learns of each leader of the partition. So do those of later controllers. By clocks that
    differ the logs have no one end.
    """
    if not clocks.all_agree:
        return account
    logs = _Logs(account.observed, account.found)
    stories = {story.life: story for story in account.stories}
    lasts: dict[Life, Outage] = {}
    for outage in (*account.free, *(each for own in account.charged.values() for each in own)):
        begin, last = latest(outage.begin), lasts.get(outage.life)
        known = None if last is None else latest(last.begin)
        if begin is not None and (known is None or begin >= known):
            lasts[outage.life] = outage

    def lasting(outage: Outage) -> Outage:
        if lasts.get(outage.life) is not outage or not _is_open(outage, stories.get(outage.life)):
            return outage
        return replace(outage, lasting=logs.end_after(outage))

    return replace(
        account,
        found=[replace(each, lasting=logs.end_after_loss(each)) for each in account.found],
        charged={index: [lasting(each) for each in own] for index, own in account.charged.items()},
        free=[lasting(each) for each in account.free],
    )


def _is_open(outage: Outage, story: History | None) -> bool:
    """Return whether no line shows what followed: no leader, no deletion, and no other cluster."""
    begin = latest(outage.begin)
    if outage.leader_after is not None or outage.shown is not None or outage.deleted or begin is None:
        return False
    last = None if story is None or not story.leaderships else story.leaderships[-1]
    return last is None or last.leader == NO_LEADER or last.since < begin


class _Logs:
    """The logs that would show a next leader, and where they end.

    Args:
        observed: Everything in the lines.
        found: The absences of brokers.
    """

    def __init__(self, observed: Observed, found: Sequence[Absence]) -> None:
        self._observed = observed
        self._gone: dict[int, list[datetime]] = {}
        for each in found:
            if _is_away(each):
                self._gone.setdefault(each.broker, []).append(begin_of(each))
        # Of logs that are too large the last lines may not be known.
        spoken = {} if observed.spoken_until is not None else observed.spoken
        self._lasts = {broker: times[-1] for broker, times in spoken.items() if len(times)}
        self._end = max(self._lasts.values(), default=None)
        self._missing = [each.time for each in observed.about(None, BrokerKind.RECORDS_MISSING)]
        self._last_record = _last_record(observed)

    def end_after(self, outage: Outage) -> datetime | None:
        """Return when the logs end, if they cover a time without a leader to there; None if not."""
        begin = latest(outage.begin)
        if begin is None or not outage.lines:
            return None
        if outage.lines[0].text.startswith(RECORD):
            end = None if any(time >= begin for time in self._missing) else self._last_record
            return end if end is not None and end > begin else None
        later = _after(self._observed.controllers, begin)
        if later is None or any(each.broker not in self._lasts for each in later):
            return None
        witnesses = {outage.lines[0].broker, *(each.broker for each in later)}
        there = [each for each in witnesses if each in self._lasts and self._stays(each, begin)]
        return self._end if there and self._end is not None and self._end > begin else None

    def end_after_loss(self, absence: Absence) -> datetime | None:
        """Return when the logs end, if a return would stand in them to there, but does not; None if not.

        The controller logs it, whose own log must go on; what a broker writes after its loss may show one.
        """
        seen, begin = self._observed, begin_of(absence)
        is_open = isinstance(absence.returned, Unknown) and absence.started is None is absence.unseen
        is_there = absence.cause in (Cause.LOST_OR_STOPPED, Cause.LOST_SESSION, Cause.UNREGISTERED)
        # One that asks to stop is there, though its session was lost before.
        is_there = is_there or any(line.time > begin + CLOCKS for line in seen.about(absence.broker, *ASKED))
        if not is_open or is_there or absence.wrote_until is not None or not seen.controllers:
            return None
        later, last = _after(seen.controllers, begin), seen.controllers[-1].broker
        own, end = self._lasts.get(absence.broker), self._lasts.get(last)
        if later is None or last == absence.broker or end is None or (own is not None and own > begin):
            return None
        return self._end if end > begin + _STARTED and self._stays(last, begin) else None

    def _stays(self, broker: int | None, since: datetime) -> bool:
        """Return whether no line shows that a broker left after a moment and did not return."""
        return broker is not None and all(gone <= since - CLOCKS for gone in self._gone.get(broker, ()))


def _last_record(observed: Observed) -> datetime | None:
    """Return the time of the last record of a metadata log; None if there is none."""
    times = [each.time for each in observed.brokers if each.line.text.startswith(RECORD)]
    times.extend(each.first_logged for each in observed.states if each.line.text.startswith(RECORD))
    return max(times, default=None)


def _is_away(absence: Absence) -> bool:
    return latest(absence.returned) is None


def _after(controllers: Sequence[Controller], begin: datetime) -> list[Controller] | None:
    """Return the controllers that were elected after a moment; None if they are of another cluster."""
    before = [each.epoch for each in controllers if each.since <= begin]
    later = [each for each in controllers if each.since > begin]
    is_other = before and any(is_of_another_cluster(before[-1], each.epoch) for each in later)
    return None if is_other else later
