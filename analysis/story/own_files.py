"""Brokers that lived on while their cluster took them for gone, as a file of their own log shows."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.causes import STARTUP
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.runs import SERVES, STARTS, Run, What, is_first_of_process

_LONG = timedelta(minutes=1)
"""The time after which a line is no line of the moment before, by another clock or from a full buffer."""

_Written = dict[tuple[int, str], list[tuple[datetime, Line]]]


class OwnFiles:
    """The lines of brokers by file, of which not all are known.

    Args:
        observed: Everything in the lines.
    """

    def __init__(self, observed: Observed) -> None:
        self._observed = observed
        self._written: _Written | None = None

    def goes_on(self, broker: int, run: Run) -> Line | None:
        """Return a line which proves that one process was lost and wrote on; None if none does.

        A process writes many lines as it starts. If none of them is in the file that has the start of the one
        before and later lines, there was no other process.

        Args:
            broker: The broker.
            run: The lines of its absence.
        """
        if not run.states_only(What.GONE, What.BACK) or run.kinds(*SERVES):
            return None
        lists = run.kinds(BrokerKind.BROKERS_CHANGED)
        lost = next((line for line in lists if broker in (*line.lost, *line.bounced)), None)
        if lost is None:
            return None
        find = self._observed.about_within
        starts = [line for kind in STARTS for line in find(broker, kind, None, lost.time)]
        start = max(starts, key=lambda line: line.time, default=None)
        if start is None or not is_first_of_process(start):
            return None
        nexts = [line.time for kind in (*STARTS, *SERVES) for line in find(broker, kind, lost.time, None)[:1]]
        added = [line for line in lists if broker in (*line.added, *line.bounced)]
        do_agree = any(
            abs(line.time - other.time) <= CLOCKS
            for line in run.kinds(BrokerKind.REGISTERED) if line.broker == broker
            for other in added[:1]
        )  # fmt: skip
        since = lost.time + (CLOCKS if do_agree else _LONG)
        return self._last(broker, start.line.source, since, min(nexts, default=None))

    def _last(self, broker: int, source: str, since: datetime, until: datetime | None) -> Line | None:
        """Return the last line of a broker in a file, if it is after a moment and before a start."""
        if self._written is None:
            self._written = _written(self._observed)
        lines = self._written.get((broker, source), [])
        end = len(lines) if until is None else bisect_left(lines, until - STARTUP, key=lambda each: each[0])
        return lines[end - 1][1] if end and lines[end - 1][0] > since else None


def _written(observed: Observed) -> _Written:
    """Return the lines of brokers that are known with their places, by broker and file, by time."""
    written: _Written = {}
    for time, line in _lines(observed):
        if line.broker is not None:
            written.setdefault((line.broker, line.source), []).append((time, line))
    for lines in written.values():
        lines.sort()
    return written


def _lines(observed: Observed) -> Iterator[tuple[datetime, Line]]:
    for known in (observed.brokers, observed.isr_lines, observed.led, observed.refusals):
        yield from ((each.time, each.line) for each in known)
    for state in observed.states:
        yield state.first_logged, state.line
