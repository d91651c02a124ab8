"""The truth, derived from what was measured. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import dropwhile, pairwise

from barnabas.bench.truth.leading import LEARNED, is_dark, led_since, may_lead_from, next_leaders, outages
from barnabas.bench.truth.measured import Deed, Measured
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import Departure, FailedDisk, InSync, Leaderless, Span, Tenure, Truth
from barnabas.bench.truth.znodes import Registration, Written, Znodes
from barnabas.cluster.model.ids import NO_LEADER

_AT_ONCE = timedelta(milliseconds=1)

_UNTIL_THE_SESSION_ENDS = (Action.STOP, Action.EXPIRE)
"""The actions after whose begin a broker may still become a leader."""

_SERVES_ON = (Action.EXPIRE, Action.CUT)
"""The actions after which a broker serves its clients until others lead its partitions."""


def truth_of(measured: Measured) -> Truth:
    """Return what truly happened, from all measurements."""
    deeds = sorted((*measured.deeds, *_unscripted(measured)), key=lambda each: each.gone)
    departures = [_departure(deed, measured) for deed in deeds]
    window = measured.window
    dark = [outage for disk in measured.disks for outage in _without_disk(disk, departures, measured)]
    lost = [
        *dark,
        *(
            outage
            for departure in departures
            for name in departure.kept
            for outage in _leaderless(departure, name, departures, measured)
            if not any(each.partition == name and _is_before_end(each, departure.gone.high) for each in dark)
            if departure.action not in _SERVES_ON or _is_taken_away(departure, name, measured.znodes)
            if not _never_led(departure, name, measured)
        ),
    ]
    elected = [each for each in measured.znodes.controllers if window.low <= each.since <= window.high]
    return Truth(
        departures=tuple(departures),
        leaderless=tuple(
            dict.fromkeys(
                (
                    *lost,
                    *_taken(measured, departures, lost),
                    *_elected_in_vain(measured, departures, lost),
                    *_gained(measured, departures),
                )
            )
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
    return is_dark(first, name, measured)


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
) -> Iterable[Leaderless]:
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
    found = next_leaders(after, name, departures, measured, lost=departure)
    alone = _without_election(departure, name, measured)
    has_ended = departure.action in (Action.STOP, Action.KILL)
    elected = found[0].since
    if elected is None or (has_ended and alone.end is not None and alone.end.high < elected.low):
        yield alone  # it led again in its old leader epoch before another election, or nobody was elected
        return
    begin = departure.gone
    if departure.action is Action.CUT:
        begin = Span(begin.low, max(begin.high, after[0].time))
    is_due = _is_noticed(departure, max(kept), name, measured)
    yield from outages(name, departure.broker, begin, found, is_due=is_due)


def _is_noticed(departure: Departure, epoch: int, name: str, measured: Measured) -> bool:
    """Return whether anybody took a silent leader for gone before another one was elected, or it led on.

    A controller may move a leader away from a broker that was paused or killed a moment before, of which it
    does not know; and if all brokers are paused, nobody takes a partition from its leader. Then no line tells
    that the partition had no leader meanwhile.
    """
    moved = next((each for each in measured.znodes.states[name] if each.epoch > epoch), None)
    if departure.action not in (Action.PAUSE, Action.KILL) or moved is None:
        return True
    ended = (
        each.until
        for each in measured.znodes.registrations
        if each.broker == departure.broker and each.until is not None and each.until >= departure.gone.low
    )
    if moved.leader == departure.broker:
        return departure.action is Action.KILL
    return min(ended, default=moved.time) <= moved.time


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
        found = next_leaders(later, name, departures, measured)
        noticed = later[0].time if later else disk.failed.high
        begin = Span(disk.failed.low, max(disk.failed.low, noticed))
        if found[0].since is not None:
            yield from outages(name, disk.broker, begin, found)
            continue
        _, again = led_since(measured.answers, disk.broker, name, disk.failed.high)
        if again is not None:
            yield Leaderless(name, disk.broker, begin, disk.broker, Span(disk.failed.high, again))
        elif later:
            yield Leaderless(name, disk.broker, begin, None, None)


def _taken(
    measured: Measured, departures: Sequence[Departure], lost: Sequence[Leaderless]
) -> Iterable[Leaderless]:
    """Yield the times without a leader that began while the leader was there.

    A new controller takes replicas of a broker offline that restarted before it was elected.
    """
    for name in measured.partitions:
        states = [each for each in measured.znodes.states.get(name, ()) if each.time <= measured.window.high]
        for index, (before, none, after) in enumerate(
            zip(states, states[1:], states[2:], strict=False), start=2
        ):
            is_one = before.leader != NO_LEADER == none.leader != after.leader
            during = [each for each in lost if each.partition == name and _spans(each, none.time)]
            if not is_one or any(each.end is None or none.time < each.end.low for each in during):
                continue
            if is_dark(before, name, measured):
                continue  # it had never led
            begin = Span(none.time, max(none.time, after.time))
            found = next_leaders(states[index:], name, departures, measured)
            if found[0].since is not None:
                # Where the leader may have led again by then, this may be a part of the longer time.
                yield from outages(name, before.leader, begin, found, is_due=not during)


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
            found = next_leaders(later, name, departures, measured)
            if found[0].since is None or vain.leader in (NO_LEADER, before.leader):
                continue
            since = may_lead_from(vain, name, departures, measured, None)
            is_lost = since is None or since >= later[0].time
            if not is_lost and not _may_be_gone(vain, departures):
                continue
            had_no_disk = is_dark(vain, name, measured)
            is_part = any(each.partition == name and _spans(each, vain.time) for each in lost)
            is_same = vain.leader == later[0].leader and found[0].since.low == later[0].time
            if is_same or (not is_part and not had_no_disk and NO_LEADER in (before.leader, later[0].leader)):
                continue
            begin = Span(vain.time, later[0].time if had_no_disk else vain.time)
            is_due = is_lost and not is_part
            yield from outages(name, vain.leader, begin, found, is_due=is_due)
            if had_no_disk and is_due and before.leader != NO_LEADER:
                yield from outages(name, before.leader, begin, found, is_due=False)


def _gained(measured: Measured, departures: Sequence[Departure]) -> Iterable[Leaderless]:
    """Yield the losses of what a broker was elected to lead after its session had ended, unnoticed."""
    for departure in departures:
        if departure.action not in _SERVES_ON or departure.returned is None:
            continue
        until = min(departure.returned.high + LEARNED, measured.window.high)
        for name in measured.partitions:
            states = measured.znodes.states.get(name, ())
            for index, (own, taken) in enumerate(pairwise(states), start=1):
                is_lost = own.leader == departure.broker != taken.leader != NO_LEADER
                if is_lost and departure.gone.high < own.time and taken.time <= until:
                    found = next_leaders(states[index:], name, departures, measured)
                    if found[0].since is not None:
                        yield from outages(name, own.leader, Span(own.time, taken.time), found, is_due=False)


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
    return taken is not None and (back is None or taken <= back.high + LEARNED)


def _may_be_gone(written: Written, departures: Sequence[Departure]) -> bool:
    """Return whether a state names a leader that went at about the same moment."""
    return any(
        each.broker == written.leader and each.gone.low <= written.time <= each.gone.high
        for each in departures
    )


def _without_election(departure: Departure, name: str, measured: Measured) -> Leaderless:
    """Return the time until the same leader led again, or a time without an end."""
    returned = departure.returned
    led = None
    if returned is not None:
        _, led = led_since(measured.answers, departure.broker, name, returned.low)
    if returned is None or led is None:
        return Leaderless(name, departure.broker, departure.gone, None, None)
    return Leaderless(name, departure.broker, departure.gone, departure.broker, Span(returned.low, led))


def _in_sync(name: str, measured: Measured) -> Iterable[InSync]:
    size = None
    for each in measured.znodes.states.get(name, ()):
        if len(each.isr) not in (0, size) and each.time <= measured.window.high:
            size = len(each.isr)
            yield InSync(each.time, size)
