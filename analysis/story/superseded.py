"""Acts of a controller of KRaft after the quorum has elected another one, by the times of their lines."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.controllers import AT_WORK, successions
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.own_elections import OwnElections
from barnabas.analysis.story.rows import BrokerLine, Controller, Delay

_UNTIL_IT_LEARNS = timedelta(minutes=1)
"""The time after its last act in which a controller that is cut off learns of the next one, and says so."""


def contradictions(lines: Sequence[BrokerLine], controllers: Sequence[Controller]) -> list[Delay]:
    """Return the controllers that worked on, by their lines, after the next one, and never learned of it.

    One that the network cuts off says that it renounces when it learns of the next one. If it never does, it
    probably was no controller any more, and the clocks of the two differ by that much at least.

    Args:
        lines: The lines about brokers.
        controllers: As in ``Observed``.
    """
    acts: dict[int, list[datetime]] = {}
    renounced: dict[int, list[datetime]] = {}
    for line in lines:
        if line.broker is None:
            continue
        if line.kind in AT_WORK and line.controller_epoch is None:
            acts.setdefault(line.broker, []).append(line.time)
        elif line.kind == BrokerKind.CONTROLLER_RESIGNED:
            renounced.setdefault(line.broker, []).append(line.time)
    for times in (*acts.values(), *renounced.values()):
        times.sort()
    elections = OwnElections(controllers)
    found = []
    for before, after in successions(controllers):
        last = _last_act(before, after, acts.get(before.broker, ()), elections)
        if last is None or before.broker == after.broker:
            continue
        times = renounced.get(before.broker, [])
        first = bisect_left(times, after.since)
        if first == len(times) or times[first] > last + _UNTIL_IT_LEARNS:
            found.append(Delay(before.broker, after.broker, after.since - last, by_epochs=True))
    return found


def _last_act(
    before: Controller, after: Controller, acts: Sequence[datetime], elections: OwnElections
) -> datetime | None:
    """Return the last act of a controller in an epoch, if it is later than the next one's election."""
    again = elections.next(before.broker, max(after.since, before.since))
    index = len(acts) if again is None else bisect_left(acts, again.since)
    return acts[index - 1] if index and acts[index - 1] > after.since + CLOCKS else None


def without_superseded(
    lines: Sequence[BrokerLine], controllers: Sequence[Controller], apart: Collection[Delay] = ()
) -> Sequence[BrokerLine]:
    """Leave out what controllers did when they were none any more, in which nobody takes part.

    Up to 3.6 a controller that is cut off from the other voters works on for seconds, fences brokers whose
    heartbeats do not reach it, and takes all of that back when it learns of the next one: its records were
    never committed. Records of a metadata log, which have the epoch of their controller, are.

    Args:
        lines: The lines about brokers.
        controllers: As in ``Observed``.
        apart: The controllers whose times contradict their epochs.
    """
    pairs = {(each.controller, each.broker) for each in apart}
    elections = OwnElections(controllers)
    ends = {
        (before.broker, before.since): after.since + CLOCKS
        for before, after in successions(controllers)
        if before.broker != after.broker and (before.broker, after.broker) not in pairs
    }

    def is_superseded(line: BrokerLine) -> bool:
        if line.kind not in AT_WORK or line.controller_epoch is not None:
            return False
        own = elections.last(line.broker, line.time)
        end = None if own is None else ends.get((own.broker, own.since))
        return end is not None and end <= line.time

    return [line for line in lines if not is_superseded(line)] if ends else lines
