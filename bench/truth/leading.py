"""The next leader of a partition: what ZooKeeper holds, as far as answers to the probe prove it. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from itertools import groupby
from typing import NamedTuple

from barnabas.bench.truth.measured import Measured, at
from barnabas.bench.truth.probe import Answers
from barnabas.bench.truth.scenarios import Action
from barnabas.bench.truth.truths import Departure, Leaderless, Span
from barnabas.bench.truth.znodes import Registration, Written
from barnabas.cluster.model.ids import NO_LEADER

LEARNED = timedelta(seconds=1)
"""The longest time after which a broker has read of its election."""


class NextLeader(NamedTuple):
    """A broker that led next, or may have, and when it began to; None if nobody did."""

    broker: int | None
    since: Span | None


def next_leaders(
    states: Sequence[Written], name: str, departures: Sequence[Departure], measured: Measured, *,
    lost: Departure | None = None,
) -> list[NextLeader]:  # fmt: skip
    """Return who led after a loss: the last one did, those before may have, between two answers to the probe.

    A state is written before its leader leads, and may be replaced before the leader has read of it. So only
    an answer of that time proves that it led.

    Args:
        states: What was written after the loss.
        name: The partition.
        departures: All departures.
        measured: What was measured.
        lost: The departure that was the loss, if it was one.
    """
    found: list[NextLeader] = []
    for leader, group in groupby(enumerate(states, start=1), key=lambda each: each[1].leader):
        run = list(group)
        (_, first), (following, _) = run[0], run[-1]
        is_last = following == len(states)
        until = measured.window.high if is_last else states[following].time
        since = may_lead_from(first, name, departures, measured, lost)
        if leader == NO_LEADER or first.time > measured.window.high or since is None or since >= until:
            continue
        asked, answered = led_since(measured.answers, leader, name, since)
        if lost is not None and lost.action not in (Action.STOP, Action.KILL) and leader == lost.broker:
            # A leader that does not know of the election answers all the time; nobody can see when it learned
            # of it.
            is_certain = since + LEARNED < until
            led = max(since + LEARNED, answered or measured.window.high)
        else:
            is_certain = asked is not None and asked < until
            led = answered or measured.window.high
        found.append(NextLeader(leader, Span(since, max(since, led if is_certain or is_last else until))))
        if is_certain or is_last:
            return found
    return [*found, NextLeader(None, None)]


def outages(
    name: str, before: int, begin: Span, found: Sequence[NextLeader], *, is_due: bool = True
) -> Iterable[Leaderless]:
    """Yield the time until the leader that surely led, and those that others in between may have ended.

    Of the others each may have led or not, so the shorter times need not be reported.
    """
    *doubtful, last = found
    yield Leaderless(name, before, begin, last.broker, last.since, is_due)
    former = [(before, begin), *((each.broker, each.since) for each in doubtful)]
    for index, (lost, since) in enumerate(former):
        for after in found[index:]:
            if lost is not None and since is not None and (index > 0 or after is not last):
                yield Leaderless(name, lost, since, after.broker, after.since, is_due=False)


def may_lead_from(
    written: Written, name: str, departures: Sequence[Departure], measured: Measured, lost: Departure | None
) -> datetime | None:
    """Return the first moment at which the leader of a state may lead; None if it may not.

    A broker whose session was ended serves on, and may learn that it was elected. A new process first
    registers; one that was paused or cut off needs to go on.
    """
    time = written.time
    if lost is not None and lost.action is Action.STOP and written.leader == lost.broker:
        time = max(time, lost.gone.high)  # until then it may only be renewed as the leader that it was
    for _ in range(1 + len(departures) + len(measured.disks)):
        away = next(
            (
                each
                for each in departures
                if each.broker == written.leader and each.gone.high <= time
                and each.action is not Action.EXPIRE
                and (each.returned is None or time < _back(each, measured.znodes.registrations))
            ),
            None,
        )  # fmt: skip
        dark = next(
            (
                each
                for each in measured.disks
                if each.broker == written.leader and name in each.partitions
                and each.failed.low <= time < each.failed.high
            ),
            None,
        )  # fmt: skip
        if away is not None and away.returned is None:
            return None
        if away is not None:
            time = _back(away, measured.znodes.registrations)
        elif dark is not None:
            time = dark.failed.high
        else:
            break
    return time


def _back(departure: Departure, registrations: Sequence[Registration]) -> datetime:
    """Return the first moment at which a broker that returned may lead."""
    if departure.action in (Action.KILL, Action.STOP) or departure.returned is None:
        return _present(departure, registrations)
    return departure.returned.low


def is_dark(written: Written, name: str, measured: Measured) -> bool:
    """Return whether a state names a leader whose log directory was gone."""
    return any(
        each.broker == written.leader and name in each.partitions
        and each.failed.low <= written.time <= each.failed.high
        for each in measured.disks
    )  # fmt: skip


def _present(departure: Departure, registrations: Sequence[Registration]) -> datetime:
    back = departure.gone.high if departure.returned is None else departure.returned.low
    own = (each.since for each in registrations if each.broker == departure.broker and each.since >= back)
    return min(own, default=back)


def led_since(
    answers: Answers, broker: int, name: str, since: datetime
) -> tuple[datetime, datetime] | tuple[None, None]:
    """Return when a broker was first asked after a moment and answered as the leader, and when it had."""
    after = (each for each in answers.get((broker, name), ()) if each.led and at(each.sent) >= since)
    first = next(after, None)
    return (None, None) if first is None else (at(first.sent), at(first.received))
