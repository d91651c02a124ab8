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
from barnabas.analysis.story.clocks import clocks_of
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, State
from barnabas.analysis.story.runs import ASKED, ENDS, HANDED_OVER, HANDOVER, IMPLIED, SENT, STARTS, STOP, What

_APART = timedelta(minutes=1)
"""The least time from a line about a loss to one that shows a return, and from that to the next loss.

A new controller may repeat what the one before could not write, and a process that stood still may log what
it received before.
"""

_GRANTED = (BrokerKind.BROKER_STOP_GRANTED, BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED)

_BY_QUORUM = (BrokerKind.BROKER_FENCED, BrokerKind.BROKER_STOP_GRANTED)
"""The losses that hold only when the voters have committed them."""

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
        self._clocks = clocks_of(observed)
        self._elections = elections(observed.states)

    def added(self, broker: int, marks: Sequence[_Mark]) -> list[_Mark]:
        """Return the lines about a broker, by time, with the returns that some of them presuppose."""
        found: list[_Mark] = []
        gone = _Gone(broker)
        for index, (what, line) in enumerate(marks):
            shown = self._present(gone, line) or self._presupposed(gone, line)
            if shown is None and gone.may_be_granted(line):
                shown = self._granted(gone, (marks[later][1] for later in range(index, len(marks))))
            if shown is not None:
                found.append((What.BACK, shown))
                gone = _Gone(broker)
            if what is not What.BACK:
                gone.add(what, line)
            elif line.kind not in SENT:
                gone = _Gone(broker)
            found.append((what, line))
        last = self._present(gone, None)
        return found if last is None else [*found, (What.BACK, last)]

    def _presupposed(self, gone: _Gone, line: BrokerLine) -> BrokerLine | None:
        """Return the return before a line that only a broker that is there can cause."""
        loss = gone.loss_before(line)
        if loss is None or line.time <= loss.time + _APART or self._may_be_repeated(loss, line):
            return None
        return line._replace(kind=IMPLIED) if self._clocks.agree((loss.broker, line.broker)) else None

    def _may_be_repeated(self, loss: BrokerLine, line: BrokerLine) -> bool:
        """Return whether a controller of KRaft may only repeat what the one before did not get committed.

        A new controller gives each broker that is not fenced one session to appear. What a metadata log
        contains is committed.
        """
        if loss.kind not in _BY_QUORUM or loss.controller_epoch is not None:
            return False
        return any(
            each.broker == line.broker and max(loss.time, line.time - _APART) <= each.since <= line.time
            for each in self._observed.controllers
        )

    def _granted(self, gone: _Gone, lines: Iterable[BrokerLine]) -> BrokerLine | None:
        """Return the return before a stop, with which ``lines`` begin, that ZooKeeper's controller granted.

        It refuses the stop of a broker that it has deleted, so the broker is back when that succeeds.
        """
        stop = list(takewhile(lambda line: line.kind in _OF_STOP, lines))
        granted = next((line for line in stop if line.kind == BrokerKind.CONTROLLED_SHUTDOWN_SUCCEEDED), None)
        if granted is None or gone.last is None or stop[0].time <= gone.last.time + _APART:
            return None
        agree = self._clocks.agree((gone.last.broker, gone.broker))
        return granted._replace(kind=IMPLIED) if agree else None

    def _present(self, gone: _Gone, until: BrokerLine | None) -> BrokerLine | None:
        """Return the first sign that a broker was there after some lines of an absence, and before another.

        Args:
            gone: The lines of the absence.
            until: The next line about the broker; None if there is none.
        """
        last = gone.last
        if last is None:
            return None
        since = last.time + _APART
        writers = {last.broker} if until is None else {last.broker, until.broker}
        known = [self._first_own(gone, since)] if self._clocks.agree({gone.broker, *writers}) else []
        if until is not None and gone.is_lost:
            known.append(self._first_election(gone.broker, since, writers))
        times = [each for each in known if each is not None and (until is None or each < until.time - _APART)]
        return last._replace(kind=IMPLIED, time=min(times)) if times else None

    def _first_own(self, gone: _Gone, since: datetime) -> datetime | None:
        """Return when a line of the broker itself first shows it there; None if none does.

        A process that did not end may write on while it is cut off, but it does not become a leader.
        """
        if gone.is_other_process:
            return self._observed.first_served(gone.broker, since)
        return self._observed.first_joined(gone.broker, since) if gone.is_lost else None

    def _first_election(
        self, broker: int, since: datetime, writers: Collection[int | None]
    ) -> datetime | None:
        """Return when a controller first elected the broker: it elects only those that are there."""
        elected = self._elections.get(broker, [])
        first = bisect_right(elected, since, key=_decided)
        later = (elected[index] for index in range(first, len(elected)))
        states = (state for state in later if self._clocks.agree({state.line.broker, *writers}))
        return next((_decided(state) for state in states), None)


class _Gone:
    """The lines of an absence so far, as far as they matter for a return; there may be many.

    Args:
        broker: The broker that is absent.

    Attributes:
        broker: The same.
        last: The last line; None if there is none yet.
        is_lost: Whether the cluster has given the broker up, or let it go.
    """

    def __init__(self, broker: int) -> None:
        self.broker = broker
        self.last: BrokerLine | None = None
        self.is_lost = False
        self._deleted: BrokerLine | None = None
        self._fenced: BrokerLine | None = None
        self._is_stop = self._has_start = self._has_own = False

    def add(self, what: What, line: BrokerLine) -> None:
        """Add the next line, which states a fact about the broker."""
        self.last = line
        self.is_lost = self.is_lost or what is What.GONE or line.kind in (*_GRANTED, HANDED_OVER)
        if self.broker in line.lost:
            self._deleted = line
        if line.kind in (BrokerKind.BROKER_FENCED, *_GRANTED):
            self._fenced = line
        self._is_stop = self._is_stop or line.kind in _OF_STOP
        self._has_start = self._has_start or line.kind in STARTS
        is_own = line.broker == self.broker and line.kind in (*STARTS, *ENDS)
        self._has_own = self._has_own or is_own

    @property
    def is_other_process(self) -> bool:
        """Return whether what the broker writes next is by another process than the one that left."""
        is_new = not self._has_start or (self.last is not None and self.last.kind in STARTS)
        return is_new and self._has_own

    def may_be_granted(self, line: BrokerLine) -> bool:
        """Return whether a line begins a stop after a controller deleted the broker."""
        return line.kind in _OF_STOP and self._deleted is not None and not self._is_stop

    def loss_before(self, line: BrokerLine) -> BrokerLine | None:
        """Return the last loss after which the broker was there again by a line; None if there is none.

        A controller of ZooKeeper deletes only a broker that it had added. Up to 3.9 one of KRaft fences only
        a broker that is not fenced, and a stop that is granted fences it (``BrokerHeartbeatManager``). From
        4.0 on, when the line has a broker epoch, it fences one again that has only registered.
        """
        if line.kind == BrokerKind.BROKERS_CHANGED:
            return self._deleted if self.broker in line.lost else None
        is_fenced = line.kind == BrokerKind.BROKER_FENCED and line.broker_epoch is None
        return self._fenced if is_fenced or _UNFENCED in line.line.text else None


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
