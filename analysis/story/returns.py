"""Returns of which no line is left, but that later lines presuppose.

Without them two absences would look like one: a planned stop and a later kill like one stop of hours. A
broker is there before it can be lost again, and before it leads. Such a return is only bounded: it lies
between the last line that shows the broker gone and the first one that shows it there.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta
from itertools import takewhile

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.clocks import Clocks
from barnabas.analysis.story.observed import NO_LEADER, BrokerLine, Observed, State
from barnabas.analysis.story.runs import ASKED, ENDS, HANDOVER, IMPLIED, SENT, STARTS, STOP, What

_APART = timedelta(minutes=1)
"""The least time from a line about a loss to one that shows a return, and from that to the next loss.

A new controller may repeat what the one before could not write, and a process that stood still may log what
it received before.
"""

_GRANTED = (BrokerKind.BROKER_STOP_GRANTED, BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED)

_OF_STOP = (*STOP, *HANDOVER, *ASKED)

_UNFENCED = "Unfenced broker"
"""A controller of KRaft says with these words that the broker that asks to stop is not fenced."""

_Mark = tuple[What, BrokerLine]
"""A line about a broker with the fact that it states."""


class Returns:
    """The returns that lines presuppose.

    Args:
        observed: Everything in the lines.
    """

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._clocks = Clocks(observed.delays)
        self._elections = elections(observed.states)

    def added(self, broker: int, marks: Sequence[_Mark]) -> list[_Mark]:
        """Return the lines about a broker, by time, with the returns that some of them presuppose."""
        found: list[_Mark] = []
        gone: list[_Mark] = []
        for index, (what, line) in enumerate(marks):
            shown = self._present(broker, gone, line) or self._presupposed(broker, gone, line)
            if shown is None and line.kind in _OF_STOP and gone:
                shown = self._granted(broker, gone, marks[index:])
            if shown is not None:
                found.append((What.BACK, shown))
                gone = []
            if what is not What.BACK:
                gone.append((what, line))
            elif line.kind not in SENT:
                gone = []
            found.append((what, line))
        last = self._present(broker, gone, None)
        return found if last is None else [*found, (What.BACK, last)]

    def _presupposed(self, broker: int, gone: Sequence[_Mark], line: BrokerLine) -> BrokerLine | None:
        """Return the return before a line that only a broker that is there can cause."""
        loss = next((each for _, each in reversed(gone) if _presupposes(broker, line, each)), None)
        if loss is None or line.time <= loss.time + _APART:
            return None
        return line._replace(kind=IMPLIED) if self._clocks.agree((loss.broker, line.broker)) else None

    def _granted(self, broker: int, gone: Sequence[_Mark], marks: Iterable[_Mark]) -> BrokerLine | None:
        """Return the return before a stop, with which ``marks`` begin, that ZooKeeper's controller granted.

        It refuses the stop of a broker that it has deleted, so the broker is back when that succeeds.
        """
        if any(line.kind in _OF_STOP for _, line in gone) or not any(broker in line.lost for _, line in gone):
            return None
        last = gone[-1][1]
        stop = [line for _, line in takewhile(lambda mark: mark[1].kind in _OF_STOP, marks)]
        granted = next((line for line in stop if line.kind == BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED), None)
        if granted is None or stop[0].time <= last.time + _APART:
            return None
        return granted._replace(kind=IMPLIED) if self._clocks.agree((last.broker, broker)) else None

    def _present(self, broker: int, gone: Sequence[_Mark], until: BrokerLine | None) -> BrokerLine | None:
        """Return the first sign that a broker was there after some lines of an absence, and before another.

        Args:
            broker: The broker.
            gone: The lines of the absence.
            until: The next line about the broker; None if there is none.
        """
        if not gone:
            return None
        last = gone[-1][1]
        writers = {last.broker} if until is None else {last.broker, until.broker}
        known = [self._first_own(broker, gone)] if self._clocks.agree({broker, *writers}) else []
        if until is not None:
            known.append(self._first_election(broker, gone, writers))
        times = [each for each in known if each is not None and (until is None or each < until.time - _APART)]
        return last._replace(kind=IMPLIED, time=min(times)) if times else None

    def _first_own(self, broker: int, gone: Sequence[_Mark]) -> datetime | None:
        """Return when a line of the broker itself first shows it there; None if none does.

        A process that did not end may write on while it is cut off, but it does not become a leader.
        """
        last = gone[-1][1]
        since = last.time + _APART
        is_new = last.kind in STARTS or not any(line.kind in STARTS for _, line in gone)
        if is_new and any(line.broker == broker and line.kind in (*STARTS, *ENDS) for _, line in gone):
            return self._observed.first_served(broker, since)
        return self._observed.first_joined(broker, since) if _is_lost(gone) else None

    def _first_election(
        self, broker: int, gone: Sequence[_Mark], writers: Collection[int | None]
    ) -> datetime | None:
        """Return when a controller first elected the broker: it elects only those that are there."""
        if not _is_lost(gone):
            return None
        elected = self._elections.get(broker, [])
        first = bisect_right(elected, gone[-1][1].time + _APART, key=_decided)
        states = (state for state in elected[first:] if self._clocks.agree({state.line.broker, *writers}))
        return next((_decided(state) for state in states), None)


def _presupposes(broker: int, line: BrokerLine, loss: BrokerLine) -> bool:
    """Return whether a line says that a broker was there after a line about its loss.

    A controller of ZooKeeper deletes only a broker that it had added. Up to 3.9 one of KRaft fences only a
    broker that is not fenced, and a stop that is granted fences it (``BrokerHeartbeatManager``). From 4.0 on,
    when the line has a broker epoch, it fences one again that has only registered.
    """
    if line.kind == BrokerKind.BROKERS_CHANGED:
        return broker in line.lost and broker in loss.lost
    is_fenced = line.kind == BrokerKind.BROKER_FENCED and line.broker_epoch is None
    is_there = is_fenced or _UNFENCED in line.line.text
    return is_there and loss.kind in (BrokerKind.BROKER_FENCED, *_GRANTED)


def _is_lost(gone: Iterable[_Mark]) -> bool:
    """Return whether the cluster has given a broker up, or let it go, by the lines of its absence."""
    return any(what is What.GONE or line.kind in _GRANTED for what, line in gone)


def elections(states: Iterable[State]) -> dict[int, list[State]]:
    """Return the elections of each broker that a controller logged, by time."""
    found: dict[int, list[State]] = {}
    for state in states:
        if state.decided is not None and state.was is not None and state.leader != NO_LEADER:
            found.setdefault(state.leader, []).append(state)
    for elected in found.values():
        elected.sort(key=_decided)
    return found


def _decided(state: State) -> datetime:
    return state.decided or state.first_logged
