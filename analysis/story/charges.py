"""Outages charged to the absences of their leaders, and bounded by them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of, known_end
from barnabas.analysis.story.causes import MOVED, ORDERLY, Cause
from barnabas.analysis.story.certainty import Bound, Fact, Unknown, earliest, latest, moment
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.partitions import Outage
from barnabas.analysis.story.returns import elections
from barnabas.analysis.story.rows import BrokerLine, State
from barnabas.analysis.story.runs import ENDS, STARTS
from barnabas.cluster.model.statechange import Kind

_HANDLED = timedelta(seconds=30)
"""The longest time in which a controller handles a loss that it notices when the broker is back."""

_LATE = timedelta(seconds=10)
"""The longest time after a broker's return in which brokers of KRaft log the loss of its leaders."""


_UNFENCED = "to unfence has been granted"
"""The words of a controller of KRaft that lifts a broker's fence."""


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


def with_elections(found: Iterable[Absence], states: Iterable[State]) -> list[Absence]:
    """Bound the returns that no other line shows: a controller elects only a broker that is there.

    Args:
        found: The absences, by the latest time at which each began.
        states: The states of all partitions.
    """
    known = list(found)
    silent = {each.broker for each in known if _is_silent(each)}
    elected: dict[int, list[State]] = {}
    for state in states:
        if state.leader in silent and state.decided is not None and state.was is not None:
            elected.setdefault(state.leader, []).append(state)
    for states_of in elected.values():
        states_of.sort(key=_decided)
    next_begin: dict[int, datetime] = {}
    for index in range(len(known) - 1, -1, -1):
        each = known[index]
        own = _first_after(elected.get(each.broker, []), each)
        until = next_begin.get(each.broker)
        if _is_silent(each) and own is not None and (until is None or _decided(own) < until - CLOCKS):
            known[index] = replace(each, returned=Bound(None, _decided(own), (own.line,)))
        next_begin[each.broker] = begin_of(each)
    return known


def _first_after(elected: Sequence[State], absence: Absence) -> State | None:
    """Return the first election of a broker after its loss, by a clock that is the same or surely later.

    A session that expired is renewed within a tenth of a second.
    """
    noticed = latest(absence.noticed) or begin_of(absence)
    writers = {line.broker for line in absence.noticed.lines or absence.gone.lines}
    later = (elected[index] for index in range(bisect_right(elected, noticed, key=_decided), len(elected)))
    is_later = (each for each in later if each.line.broker in writers or _decided(each) > noticed + CLOCKS)
    return next(is_later, None)


def with_registrations(found: Iterable[Absence], observed: Observed) -> list[Absence]:
    """Take its registration for the return of a broker that was elected before its start was over.

    A controller elects whom it sees registered, and the broker logs some time later that it has started.

    Args:
        found: The absences.
        observed: Everything in the lines.
    """
    elected = {
        broker: [state.decided for state in states if state.decided is not None]
        for broker, states in elections(observed.states).items()
    }
    return [_registered(each, elected.get(each.broker, ()), observed) for each in found]


def _registered(absence: Absence, elected: Sequence[datetime], observed: Observed) -> Absence:
    back = absence.returned
    if not isinstance(back, Fact) or absence.started is None:
        return absence
    broker = absence.broker
    for line in observed.about_within(broker, BrokerKind.REGISTERED, absence.started, back.value):
        first = bisect_left(elected, line.time)
        is_elected = first < len(elected) and elected[first] < back.value
        is_of_failed = any(
            observed.about_within(broker, kind, line.time, back.value)
            for kind in (*STARTS, *ENDS, BrokerKind.START_FAILED)
        )
        if line.broker == broker and is_elected and not is_of_failed:
            return replace(absence, returned=Fact(line.time, (line.line,)))
    return absence


def _is_silent(absence: Absence) -> bool:
    return (
        isinstance(absence.returned, Unknown)
        and absence.unseen is None
        and (latest(absence.noticed) is not None or absence.reason == MOVED)
    )


def _decided(state: State) -> datetime:
    return state.decided or state.first_logged


def bounded_notices(found: Iterable[Absence], outages: Iterable[Outage]) -> list[Absence]:
    """Bound the notices that only brokers' lines show, which are later than the controller's."""
    late = {line for each in outages if each.is_late for line in each.begin.lines}
    return [
        replace(each, noticed=Bound(None, each.noticed.value, each.noticed.lines))
        if isinstance(each.noticed, Fact) and late.issuperset(each.noticed.lines)
        else each
        for each in found
    ]


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

        Of a partition that was created while no replica was alive, it is that of the first leader. Of one
        whose leader before no line shows, it is that of the next leader, if only that one could lead.
        The lines of a controller may be a little earlier or later than the absence. Of several that may have
        begun by then, it is the one that was noticed closest to it; not one before a start after which the
        leader led.
        """
        time = latest(outage.begin)
        is_unknown = outage.leader_before is None and not outage.among
        is_of_next = outage.created is not None or (is_unknown and outage.is_awaited)
        lost = outage.leader_after if is_of_next else outage.leader_before
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

    Where another leader, or the same one again, led unseen after its end, that end is not the begin. Nor is
    it where the leader was elected after its end, because nobody had noticed: until then another one led.
    Nor does a partition lose a leader that was created without one, nor is it certain that it lost the one
    that only its return shows.
    """
    if outage.created is not None or outage.leader_before is None:
        return outage
    bounded = _bounded(_fenced(outage, absence), absence)
    low, most = earliest(bounded.begin), latest(bounded.begin)
    first = max((each for each in (outage.unseen, outage.elected) if each is not None), default=None)
    known = latest(outage.begin)
    if outage.may_be_older and outage.unseen is None:
        return replace(bounded, begin=moment(None, known, bounded.begin.lines, ""))
    is_led_before = outage.led_at is not None and known is not None and outage.led_at <= known
    if first is None and is_led_before and _is_led_later(outage, most, CLOCKS):
        # It was back, though no other line shows that.
        return replace(bounded, begin=moment(outage.led_at, known, bounded.begin.lines, ""))
    if outage.is_late and first is None and _is_led_later(outage, most):
        # Its first line that it leads is after its end: it may have been elected after that, too.
        return replace(bounded, begin=moment(low, known, bounded.begin.lines, ""))
    if most is None or first is None:
        return bounded
    if most <= first:
        begin = moment(first, latest(outage.begin), outage.begin.lines, "")
        return replace(bounded, begin=begin)
    if low is None or low < first:
        return replace(bounded, begin=moment(first, most, bounded.begin.lines, ""))
    return bounded


def _is_led_later(outage: Outage, moment: datetime | None, by: timedelta = timedelta(0)) -> bool:
    """Return whether the lost leader first says that it leads later than a moment, by more than ``by``."""
    return moment is not None and outage.led_at is not None and moment + by < outage.led_at


def with_unled(outages: Sequence[Outage]) -> list[Outage]:
    """Let the outages of a partition begin with the one before where no line shows that anybody led between.

    A controller elects a broker that has ended, too, until it notices. That it was elected is then no bound
    of the time without a leader.
    """
    elected: dict[tuple[int | None, datetime | None], Outage] = {
        (each.leader_after, each.shown): each for each in outages
        if each.shown is not None and latest(each.end) is None
    }  # fmt: skip
    return [_unled_since(each, elected.get((each.leader_before, each.elected))) for each in outages]


def _unled_since(outage: Outage, before: Outage | None) -> Outage:
    if before is None or outage.led_at is not None or earliest(outage.begin) != outage.elected:
        return outage
    lines = (*outage.begin.lines, *before.begin.lines)
    begin = moment(earliest(before.begin), latest(outage.begin), lines, "no line shows who led before")
    return replace(outage, begin=begin)


def _fenced(outage: Outage, absence: Absence) -> Outage:
    """Bound an outage that only brokers' late lines show by the fence of its leader.

    A fence takes all of its leaders from a broker. It leads none again before its fence is lifted.
    """
    fence, back = absence.noticed, absence.returned
    begin, end = outage.begin, outage.end
    known, led = latest(begin), latest(end)
    is_led = outage.led_at is not None and absence.spoke is not None and outage.led_at <= absence.spoke
    if not (is_led and outage.is_late and not outage.is_after_gap and isinstance(fence, Fact)):
        return outage
    if known is not None and fence.value < known:
        begin = moment(earliest(begin), fence.value, (*begin.lines, *fence.lines), "")
    is_unfenced = isinstance(back, Fact) and any(_UNFENCED in line.text for line in back.lines)
    if outage.leader_after == absence.broker and is_unfenced and earliest(end) is None:
        end = moment(earliest(back), led, (*end.lines, *back.lines), "no line shows when it led again")
    return replace(outage, begin=begin, end=end)


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
    if absence.cause in (Cause.UNREGISTERED, Cause.FENCED):
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
        # A new process of which no line shows that it served may have led until the outage was noticed. So
        # may any if changes of the leader are missing: it is elected before its start is over.
        is_unseen = outage.unseen is not None or (
            absence.started is not None and absence.started < known and latest(absence.returned) is None
        )
        # One that registered again, perhaps after its session alone had ended, led until it was given up.
        may_live = absence.cause is Cause.UNKNOWN and absence.started is None and _is_back_unnoticed(absence)
        most = known if is_unseen or may_live else min(most, known)
    if outage.may_be_older:
        # In a state that no line shows it may have been without a leader already.
        since = outage.unseen
    if since is not None and most is not None and since > most:
        since = None
    return replace(outage, begin=moment(since, most, (*outage.begin.lines, *absence.gone.lines), ""))
