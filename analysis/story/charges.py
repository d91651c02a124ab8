"""Outages charged to the absences of their leaders, and bounded by them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.causes import ORDERLY, Cause
from barnabas.analysis.story.certainty import earliest, latest, moment
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.rows import BrokerLine
from barnabas.cluster.model.statechange import Kind

_HANDLED = timedelta(seconds=30)
"""The longest time in which a controller handles a loss that it notices when the broker is back."""

_LATE = timedelta(seconds=10)
"""The longest time after a broker's return in which brokers of KRaft log the loss of its leaders."""


class _Span(NamedTuple):
    """The number of an absence, its begin and end, the latest moment of its begin, and the next start."""

    number: int
    begin: datetime
    end: datetime | None
    latest: datetime
    started: datetime | None


def shown_by(outage: Outage, observed: Observed) -> list[BrokerLine]:
    """Return the facts about brokers in an outage: its leader was gone, and is back if it leads again.

    The failure of a log directory takes leaders from a broker that stays. A broker that logs the loss of its
    own leaders is there.
    """
    begin, back = latest(outage.begin), outage.shown
    if outage.leader_before is None or begin is None or not outage.begin.lines:
        return []
    if outage.refusal is not None or failed_directory(outage.leader_before, begin, observed) is not None:
        return []
    first = outage.begin.lines[0]
    gone = BrokerLine(begin, Kind.ISR_REMOVAL, "controller", first.broker, outage.leader_before, line=first)
    if outage.leader_after != outage.leader_before or back is None or not outage.end.lines:
        return [gone]
    line = outage.end.lines[0]
    return [gone, gone._replace(time=back, kind=Kind.LEADER_AND_ISR_SENDING, line=line)]


class Charging:
    """The absences, to find the one because of which a partition lost its leader.

    Args:
        found: The absences.
    """

    def __init__(self, found: Iterable[Absence]) -> None:
        spans: dict[int, list[tuple[datetime, datetime | None, _Span]]] = {}
        for index, absence in enumerate(found):
            # A broker that stops loses its leaders before its process ends.
            known = [each for each in (absence.stopping, earliest(absence.gone)) if each is not None]
            begin, end = min(known, default=begin_of(absence)), _handled(absence)
            spans.setdefault(absence.broker, []).append(
                (begin, end, _Span(index, begin, end, begin_of(absence), absence.started))
            )
        self._spans = {broker: Intervals(each) for broker, each in spans.items()}

    def charged_to(self, outage: Outage) -> int | None:
        """Return the index of the absence of the lost leader; None if it was not gone, or refused to lead.

        The lines of a controller may be a little earlier or later than the absence. Of several that may have
        begun by then, it is the one that was noticed closest to it; not one before a start after which the
        leader led.
        """
        time, lost = latest(outage.begin), outage.leader_before
        if lost not in self._spans or time is None or outage.refusal is not None:
            return None
        most = _LATE if outage.is_late else CLOCKS
        near = self._spans[lost].near(time, most, most)
        led = outage.led_at if outage.led_at is not None and outage.led_at <= time else None
        distances = [
            (_distance(each, time), abs(each.latest - time), -each.number)
            for each in near
            if led is None or each.started is None or led < each.started
        ]
        return -min(distances)[2] if distances else None


def _handled(absence: Absence) -> datetime | None:
    """Return until when a controller may move the leaders of an absence; None if nothing bounds it."""
    noticed = latest(absence.noticed)
    return noticed + _HANDLED if noticed is not None and _is_back_unnoticed(absence) else known_end(absence)


def _is_back_unnoticed(absence: Absence) -> bool:
    """Return whether a broker was back when a controller noticed that it had been gone."""
    back, noticed = latest(absence.returned), latest(absence.noticed)
    return back is not None and noticed is not None and back <= noticed


def _distance(span: _Span, time: datetime) -> timedelta:
    return max(span.begin - time, timedelta(0) if span.end is None else time - span.end, timedelta(0))


def refined(outage: Outage, absence: Absence) -> Outage:
    """Bound the begin of an outage by the end of its leader, and its end by that leader's next start.

    Where another leader, or the same one again, may have led unseen after its end, that end is not the begin.
    """
    bounded, known = _bounded(outage, absence), latest(outage.begin)
    most = latest(bounded.begin)
    is_led_later = outage.led_at is not None and most is not None and most < outage.led_at
    if outage.may_be_older or is_led_later:
        since = (
            outage.led_at
            if is_led_later and known is not None and (outage.led_at or known) <= known
            else None
        )
        return replace(bounded, begin=moment(since, known, bounded.begin.lines, ""))
    return bounded


def _bounded(outage: Outage, absence: Absence) -> Outage:
    known, led = latest(outage.begin), latest(outage.end)
    is_same = outage.leader_after == absence.broker and absence.started is not None
    is_before = absence.started is not None and outage.shown is not None and absence.started <= outage.shown
    if is_same and (led is not None or is_before) and earliest(outage.end) is None:
        # A broker that is starting does not lead.
        outage = replace(outage, end=moment(absence.started, led, outage.end.lines, ""))
    if absence.cause is Cause.PLANNED:
        begin = moment(absence.stopping, known, outage.begin.lines, "")
        return replace(outage, begin=begin)
    if absence.cause is Cause.UNREGISTERED:
        # Its process may have ended before.
        return outage
    if absence.cause is Cause.LOST_SESSION:
        # Without a session it may serve its clients until a controller has given its leaders up.
        since = earliest(absence.gone) or earliest(outage.begin)
        begin = moment(since, known, (*outage.begin.lines, *absence.gone.lines), "")
        return replace(outage, begin=begin)
    if absence.cause in ORDERLY:
        since = absence.stopping or earliest(absence.gone)
        most = latest(absence.gone) or known
        if outage.leader_after == absence.broker and most is not None and known is not None:
            # Until it stops it may serve clients, although its controller has given it up.
            known = max(most, known)
    else:
        since, most = earliest(absence.gone), latest(absence.gone) or known
    if most is not None and known is not None:
        # A new process of which no line shows that it served may have led until the outage was noticed. One
        # that registered again, perhaps after its session alone had ended, led until it was given up.
        is_unseen = (
            absence.started is not None and absence.started < known and latest(absence.returned) is None
        )
        may_live = absence.cause is Cause.UNKNOWN and absence.started is None and _is_back_unnoticed(absence)
        most = known if is_unseen or may_live else min(most, known)
    if since is not None and most is not None and since > most:
        since = None
    return replace(outage, begin=moment(since, most, (*outage.begin.lines, *absence.gone.lines), ""))
