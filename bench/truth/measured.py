"""The truth, derived from measurements: the scripted faults, ZooKeeper's history, and brokers' answers.

Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import dropwhile, pairwise

from barnabas.bench.truth.probe import Answers
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import Departure, FailedDisk, InSync, Leaderless, Span, Tenure, Truth
from barnabas.bench.truth.znodes import Registration, Written, Znodes
from barnabas.cluster.model.ids import NO_LEADER

_LEARNED = timedelta(seconds=1)
_AT_ONCE = timedelta(milliseconds=1)

_UNTIL_THE_SESSION_ENDS = (Action.STOP, Action.EXPIRE)
"""The actions after whose begin a broker may still become a leader."""

_SERVES_ON = (Action.EXPIRE, Action.CUT)
"""The actions after which a broker serves its clients until others lead its partitions."""


@dataclass(frozen=True, slots=True)
class Deed:
    """Something that was done to a broker.

    Attributes:
        broker: The broker.
        action: What was done.
        gone: From the signal to the end of the process, or to the answer of ZooKeeper.
        returned: From the start, SIGCONT or the end of the cut until it served; None if it stayed away.
    """

    broker: int
    action: Action
    gone: Span
    returned: Span | None


@dataclass(frozen=True, slots=True)
class Measured:
    """Everything measured of a scenario.

    Attributes:
        window: From the creation of the topics to the end.
        deeds: What was done, by time.
        znodes: What ZooKeeper wrote since its first transaction.
        answers: What the brokers answered to the probe.
        partitions: The partitions of the scenario's topics.
        session: The ZooKeeper session timeout.
        min_insync: min.insync.replicas of all topics.
        disks: The log directories that were gone, by time.
    """

    window: Span
    deeds: Sequence[Deed]
    znodes: Znodes
    answers: Answers = field(default_factory=dict)
    partitions: Sequence[str] = ()
    session: timedelta = timedelta(0)
    min_insync: int = 1
    disks: Sequence[FailedDisk] = ()


def truth_of(measured: Measured) -> Truth:
    """Return what truly happened, from all measurements."""
    deeds = sorted((*measured.deeds, *_unscripted(measured)), key=lambda each: each.gone)
    departures = [_departure(deed, measured) for deed in deeds]
    window = measured.window
    dark = [outage for disk in measured.disks for outage in _without_disk(disk, departures, measured)]
    lost = [
        *dark,
        *(
            _leaderless(departure, name, departures, measured)
            for departure in departures
            for name in departure.kept
            if not any(each.partition == name and _is_before_end(each, departure.gone.high) for each in dark)
            if departure.action not in _SERVES_ON or _is_taken_away(departure, name, measured.znodes)
            if not _never_led(departure, name, measured)
        ),
    ]
    elected = [each for each in measured.znodes.controllers if window.low <= each.since <= window.high]
    return Truth(
        departures=tuple(departures),
        leaderless=(
            *lost,
            *_taken(measured, lost),
            *_elected_in_vain(measured, departures, lost),
            *_gained(measured, departures),
        ),
        controllers=(*_former(measured.znodes, window.low), *elected),
        in_sync={name: sizes for name in measured.partitions if (sizes := tuple(_in_sync(name, measured)))},
        min_insync=measured.min_insync,
        disks=tuple(measured.disks),
    )


def _never_led(departure: Departure, name: str, measured: Measured) -> bool:
    """Return whether a broker that left was elected when its log directory was gone, so that it never led."""
    own = [
        each
        for each in measured.znodes.states[name]
        if each.time <= departure.gone.high and each.leader == departure.broker
    ]
    first = next(each for each in own if each.epoch == own[-1].epoch)
    return _is_dark(first, name, measured)


def _former(znodes: Znodes, time: datetime) -> list[Tenure]:
    return [each for each in znodes.controllers if each.since < time][-1:]


def _unscripted(measured: Measured) -> Iterable[Deed]:
    """Return the sessions that ended without a deed, as they do on a busy machine."""
    for each in measured.znodes.registrations:
        until = each.until
        if until is None or not measured.window.low <= until <= measured.window.high:
            continue
        if any(deed.broker == each.broker and _explains(deed, until) for deed in measured.deeds):
            continue
        later = [
            other.since
            for other in measured.znodes.registrations
            if other.broker == each.broker and other.since >= until
        ]
        returned = Span(until, min(later) + measured.session) if later else None
        yield Deed(each.broker, Action.EXPIRE, Span(until - 3 * measured.session, until), returned)


def _explains(deed: Deed, until: datetime) -> bool:
    return deed.gone.low <= until and (deed.returned is None or until <= deed.returned.high)


def _departure(deed: Deed, measured: Measured) -> Departure:
    znodes = measured.znodes
    is_elected_meanwhile = any(
        each.broker == deed.broker and deed.gone.low < each.since <= deed.gone.high
        for each in znodes.controllers
    )
    was = None if is_elected_meanwhile else znodes.controller_at(deed.gone.low) == deed.broker
    last = _last_moment(deed, znodes.registrations)
    kept = [name for name in measured.partitions if _is_kept(deed, name, last, znodes)]
    returned = _returned(deed, znodes.registrations)
    return Departure(deed.broker, deed.action, deed.gone, returned, was, tuple(kept))


def _returned(deed: Deed, registrations: Sequence[Registration]) -> Span | None:
    """Return when a broker was back; one whose session is ended registers again by itself, and at once."""
    if deed.action is not Action.EXPIRE or deed.returned is None:
        return deed.returned
    again = (
        each.since for each in registrations if each.broker == deed.broker and each.since >= deed.gone.low
    )
    return Span(min(deed.returned.low, min(again, default=deed.returned.low)), deed.returned.high)


def _is_kept(deed: Deed, name: str, last: datetime, znodes: Znodes) -> bool:
    """Return whether a partition's leader went away, without another one before."""
    leaders = [
        each.leader for each in znodes.states.get(name, ()) if each.time <= last and each.leader != NO_LEADER
    ]
    return bool(leaders) and leaders[-1] == deed.broker


def _last_moment(deed: Deed, registrations: Sequence[Registration]) -> datetime:
    """Return the last moment before anybody could notice the departure."""
    if deed.action not in _UNTIL_THE_SESSION_ENDS:
        return deed.gone.low
    # Partitions that the broker led until its session ended it has kept; a stopping broker's leaders are
    # moved.
    ends = [
        each.until
        for each in registrations
        if each.broker == deed.broker and each.until is not None
        and deed.gone.low <= each.until <= deed.gone.high
    ]  # fmt: skip
    return (min(ends) if ends else deed.gone.high) - _AT_ONCE


def _leaderless(
    departure: Departure, name: str, departures: Sequence[Departure], measured: Measured
) -> Leaderless:
    last = departure.gone.high if departure.action in _UNTIL_THE_SESSION_ENDS else departure.gone.low
    kept = [
        each.epoch
        for each in measured.znodes.states[name]
        if each.time <= last and each.leader == departure.broker
    ]
    after = [
        each
        for each in measured.znodes.states[name]
        if each.time > departure.gone.low and each.epoch > max(kept)
    ]
    if departure.action in _SERVES_ON:
        after = list(dropwhile(lambda each: each.leader == departure.broker, after))
    later = [
        each
        for each in after
        if each.leader != NO_LEADER
        and each.time <= measured.window.high
        and not _is_lost(each, name, departures, measured)
        and (departure.action is not Action.STOP or each.leader != departure.broker or each.time > last)
    ]  # fmt: skip
    if not later:
        return _without_election(departure, name, measured)
    first = later[0]
    alone = _without_election(departure, name, measured)
    has_ended = departure.action in (Action.STOP, Action.KILL)
    if has_ended and alone.end is not None and alone.end.high < first.time:
        return alone  # it led again in its old leader epoch before another election
    led = _led(measured.answers, first.leader, name, first.time)
    lives_on = departure.action not in (Action.STOP, Action.KILL)
    is_zombie = lives_on and first.leader == departure.broker
    # A leader that does not know of the election answers all the time; nobody can see when it learned of
    # it.
    learned = first.time + _LEARNED if is_zombie else first.time
    end = Span(first.time, max(learned, led or measured.window.high))
    begin = departure.gone
    if departure.action is Action.CUT:
        begin = Span(begin.low, max(begin.high, after[0].time))
    return Leaderless(
        name, departure.broker, begin, first.leader, end, _is_noticed(departure, max(kept), name, measured)
    )


def _is_noticed(departure: Departure, epoch: int, name: str, measured: Measured) -> bool:
    """Return whether anybody took a paused leader for gone before another one was elected, or it led on.

    A controller may move a leader away from a broker that was paused a moment before, of which it does not
    know; and if all brokers are paused, nobody takes a partition from its leader. Then no line tells that the
    partition had no leader meanwhile.
    """
    moved = next((each for each in measured.znodes.states[name] if each.epoch > epoch), None)
    if departure.action is not Action.PAUSE or moved is None:
        return True
    ended = (
        each.until
        for each in measured.znodes.registrations
        if each.broker == departure.broker and each.until is not None and each.until >= departure.gone.low
    )
    return moved.leader != departure.broker and min(ended, default=moved.time) <= moved.time


def _without_disk(
    disk: FailedDisk, departures: Sequence[Departure], measured: Measured
) -> Iterable[Leaderless]:
    """Yield the times without a leader of partitions whose leaders' log directory was gone.

    The broker led until it noticed; from then on until another broker led, or until its directory was back.
    """
    for name in disk.partitions:
        states = [each for each in measured.znodes.states.get(name, ()) if each.time <= measured.window.high]
        known = [each for each in states if each.time <= disk.failed.low]
        if not known or known[-1].leader != disk.broker:
            continue
        # A follower that leaves the ISR raises the leader epoch, too.
        after = (each for each in states if each.epoch > known[-1].epoch)
        later = list(dropwhile(lambda each: each.leader == disk.broker, after))
        first = next(
            (
                each
                for each in later
                if each.leader != NO_LEADER and not _is_lost(each, name, departures, measured)
            ),
            None,
        )
        noticed = later[0].time if later else disk.failed.high
        begin = Span(disk.failed.low, max(disk.failed.low, noticed))
        if first is not None:
            led = _led(measured.answers, first.leader, name, first.time) or measured.window.high
            end = Span(first.time, max(first.time, led))
            yield Leaderless(name, disk.broker, begin, first.leader, end)
            continue
        again = _led(measured.answers, disk.broker, name, disk.failed.high)
        if again is not None:
            yield Leaderless(name, disk.broker, begin, disk.broker, Span(disk.failed.high, again))
        elif later:
            yield Leaderless(name, disk.broker, begin, None, None)


def _taken(measured: Measured, lost: Sequence[Leaderless]) -> Iterable[Leaderless]:
    """Yield the times without a leader that began while the leader was there.

    A new controller takes replicas of a broker offline that restarted before it was elected.
    """
    for name in measured.partitions:
        states = [each for each in measured.znodes.states.get(name, ()) if each.time <= measured.window.high]
        for before, none, after in zip(states, states[1:], states[2:], strict=False):
            is_one = before.leader != NO_LEADER == none.leader != after.leader
            if not is_one or any(each.partition == name and _spans(each, none.time) for each in lost):
                continue
            if _is_dark(before, name, measured):
                continue  # it had never led
            led = _led(measured.answers, after.leader, name, after.time) or measured.window.high
            begin = Span(none.time, max(none.time, after.time))
            yield Leaderless(name, before.leader, begin, after.leader, Span(after.time, max(after.time, led)))


def _elected_in_vain(
    measured: Measured, departures: Sequence[Departure], lost: Sequence[Leaderless]
) -> Iterable[Leaderless]:
    """Yield the times without a leader that begin with the election of a broker that was gone, unnoticed.

    Such an election during a longer time without a leader may be reported as a part of it, or for itself. A
    broker whose log directory is gone refuses to lead, so the leader before may be named as the lost one.
    Whether a broker was gone may not be certain to the millisecond.
    """
    for name in measured.partitions:
        states = [each for each in measured.znodes.states.get(name, ()) if each.time <= measured.window.high]
        for index, (before, vain) in enumerate(pairwise(states), start=2):
            later = states[index:]
            leading = (
                each
                for each in later
                if each.leader != NO_LEADER and not _is_lost(each, name, departures, measured)
            )
            after = next(leading, None)
            if after is None or vain.leader in (NO_LEADER, before.leader):
                continue
            is_lost = _is_lost(vain, name, departures, measured)
            if not is_lost and not _may_be_gone(vain, departures):
                continue
            is_dark = _is_dark(vain, name, measured)
            is_part = any(each.partition == name and _spans(each, vain.time) for each in lost)
            is_same = after.leader == vain.leader and later[0] is after
            if is_same or (not is_part and not is_dark and NO_LEADER in (before.leader, later[0].leader)):
                continue
            led = _led(measured.answers, after.leader, name, after.time) or measured.window.high
            begin = Span(vain.time, later[0].time if is_dark else vain.time)
            end = Span(after.time, max(after.time, led))
            is_due = is_lost and not is_part
            yield Leaderless(name, vain.leader, begin, after.leader, end, is_due=is_due)
            if is_dark and is_due and before.leader != NO_LEADER:
                yield Leaderless(name, before.leader, begin, after.leader, end, is_due=False)


def _gained(measured: Measured, departures: Sequence[Departure]) -> Iterable[Leaderless]:
    """Yield the losses of what a broker was elected to lead after its session had ended, unnoticed."""
    for departure in departures:
        if departure.action not in _SERVES_ON or departure.returned is None:
            continue
        until = min(departure.returned.high + _LEARNED, measured.window.high)
        for name in measured.partitions:
            for own, taken in pairwise(measured.znodes.states.get(name, ())):
                is_lost = own.leader == departure.broker != taken.leader != NO_LEADER
                if is_lost and departure.gone.high < own.time and taken.time <= until:
                    led = _led(measured.answers, taken.leader, name, taken.time) or measured.window.high
                    begin, end = Span(own.time, taken.time), Span(taken.time, max(taken.time, led))
                    yield Leaderless(name, own.leader, begin, taken.leader, end, is_due=False)


def _is_before_end(outage: Leaderless, time: datetime) -> bool:
    return outage.begin.low <= time and (outage.end is None or time <= outage.end.low)


def _spans(outage: Leaderless, time: datetime) -> bool:
    return outage.begin.low <= time and (outage.end is None or time <= outage.end.high)


def _is_taken_away(departure: Departure, name: str, znodes: Znodes) -> bool:
    """Return whether anybody took a partition from a broker that lost its session and served on."""
    states = znodes.states[name]
    epoch = max(
        each.epoch for each in states if each.time <= departure.gone.high and each.leader == departure.broker
    )
    taken = next(
        (each.time for each in states if each.epoch > epoch and each.leader != departure.broker), None
    )
    back = departure.returned
    return taken is not None and (back is None or taken <= back.high + _LEARNED)


def _is_lost(written: Written, name: str, departures: Sequence[Departure], measured: Measured) -> bool:
    """Return whether a state names a leader that could not lead: it was gone, or its log directory."""
    return _is_gone(written, departures, measured.znodes.registrations) or _is_dark(written, name, measured)


def _is_dark(written: Written, name: str, measured: Measured) -> bool:
    return any(
        each.broker == written.leader and name in each.partitions
        and each.failed.low <= written.time <= each.failed.high
        for each in measured.disks
    )  # fmt: skip


def _is_gone(
    written: Written, departures: Sequence[Departure], registrations: Sequence[Registration]
) -> bool:
    """Return whether a state names a leader that could not lead: a new process first registers."""
    return any(
        each.broker == written.leader and each.gone.high <= written.time
        and (each.returned is None or written.time < _present(each, registrations))
        for each in departures
    )  # fmt: skip


def _may_be_gone(written: Written, departures: Sequence[Departure]) -> bool:
    """Return whether a state names a leader that went at about the same moment."""
    return any(
        each.broker == written.leader and each.gone.low <= written.time <= each.gone.high
        for each in departures
    )


def _present(departure: Departure, registrations: Sequence[Registration]) -> datetime:
    back = departure.gone.high if departure.returned is None else departure.returned.low
    own = (each.since for each in registrations if each.broker == departure.broker and each.since >= back)
    return min(own, default=back)


def _without_election(departure: Departure, name: str, measured: Measured) -> Leaderless:
    """Return the time until the same leader led again, or a time without an end."""
    returned = departure.returned
    led = None if returned is None else _led(measured.answers, departure.broker, name, returned.low)
    if returned is None or led is None:
        return Leaderless(name, departure.broker, departure.gone, None, None)
    return Leaderless(name, departure.broker, departure.gone, departure.broker, Span(returned.low, led))


def _led(answers: Answers, broker: int, name: str, since: datetime) -> datetime | None:
    """Return when a broker had first answered as the leader to a request after a moment."""
    after = (each.received for each in answers.get((broker, name), ()) if each.led and at(each.sent) >= since)
    first = next(after, None)
    return None if first is None else at(first)


def _in_sync(name: str, measured: Measured) -> Iterable[InSync]:
    size = None
    for each in measured.znodes.states.get(name, ()):
        if len(each.isr) not in (0, size) and each.time <= measured.window.high:
            size = len(each.isr)
            yield InSync(each.time, size)


def at(seconds: float) -> datetime:
    """Return a moment as the logs of a machine in UTC write it."""
    return datetime.fromtimestamp(seconds, UTC).replace(tzinfo=None)


def span(begin: float, end: float) -> Span:
    """Return the span between two moments in seconds since 1970."""
    return Span(at(begin), at(end))


def names_of(topics: Mapping[str, int]) -> list[str]:
    """Return the names of the partitions of topics."""
    return [f"{topic}-{number}" for topic, count in topics.items() for number in range(count)]
