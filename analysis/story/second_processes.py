"""A process that is started although the broker runs, and ends at once: the first one serves on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Lines
from barnabas.analysis.story.intervals import Intervals
from barnabas.analysis.story.observed import first_after
from barnabas.analysis.story.rows import BrokerLine, RefusedProcess
from barnabas.analysis.story.runs import ENDS, HANDOVER, SERVES, STARTS, STOP, What, lines_about

_LOCKED = "Failed to acquire lock on file .lock"
"""A running process holds the log directory (``LogManager.lockLogDirs``)."""

_REGISTERED = "NodeExists"
"""The broker id is registered in ZooKeeper, maybe by the former session of a process that died."""

_DUPLICATE = "DUPLICATE_BROKER_REGISTRATION"
"""KRaft: the session of another incarnation goes on (``ClusterControlManager``), maybe of one that died."""

_GAVE_UP = "we were unable to register"
"""KRaft: a process that could not register in time says so (``BrokerLifecycleManager``)."""

_REGISTERING = timedelta(seconds=60)
"""Kafka's default of ``initial.broker.registration.timeout.ms``."""

_START = timedelta(seconds=60)
"""The longest time from a process's first line to the first failure of its start."""

_END = timedelta(seconds=30)
"""The longest time from a failed start to the process's last line."""

_OF_START = (*STARTS, BrokerKind.CONFIGURED, BrokerKind.START_FAILED, BrokerKind.REGISTRATION_REFUSED)

_OF_END = (*STOP, *HANDOVER, *ENDS, BrokerKind.START_FAILED)


class _Second(NamedTuple):
    """A process whose start failed because another one of the broker was there.

    Attributes:
        broker: The broker; None if no line names it.
        since: The earliest time of its first line.
        failed: When its start failed.
        ended: The latest time of its last line.
        lines: Of KRaft, the lines of the refusal and of the end; empty if no line shows a refusal.
        completed: When it had shut down. A process logs that once, so a later such line is of the one that
            ran; None if no line shows it.
    """

    broker: int | None
    since: datetime
    failed: datetime
    ended: datetime
    lines: Lines = ()
    completed: datetime | None = None

    def has_written(self, line: BrokerLine) -> bool:
        """Return whether a line is one of the process."""
        if line.broker != self.broker or (line.subject is not None and line.subject != line.broker):
            return False
        if _is_completed(line) and self.completed is not None and line.time > self.completed:
            return False
        is_of_start = line.kind in _OF_START and self.since <= line.time <= self.failed
        return is_of_start or (line.kind in _OF_END and self.failed <= line.time <= self.ended)


def _is_completed(line: BrokerLine) -> bool:
    """Return whether a process has shut down as a broker, which it logs once."""
    return line.kind == BrokerKind.STOPPED and line.role != "controller"


def without_second_processes(
    lines: Sequence[BrokerLine], served: Mapping[int, Sequence[datetime]]
) -> tuple[Sequence[BrokerLine], list[RefusedProcess]]:
    """Leave out the starts and stops of processes that found that the broker runs.

    A process that holds the lock of the log directory runs. That a broker id is registered shows this only if
    the broker writes lines later, as one does that has started, before any other start. So does that a
    process of KRaft could not register. If it was refused, it is left out, too, where nothing but its own
    lines shows a departure.

    Args:
        lines: The lines about brokers, by time.
        served: As in ``Observed``.

    Returns:
        The lines that are left, and the processes of KRaft whose lines are left out.
    """
    starts: dict[int, list[datetime]] = {}
    completed: dict[int | None, list[datetime]] = {}
    for line in lines:
        if line.broker is not None and line.kind in (*STARTS, *SERVES):
            starts.setdefault(line.broker, []).append(line.time)
        elif _is_completed(line):
            completed.setdefault(line.broker, []).append(line.time)
    starts = {broker: sorted(times) for broker, times in starts.items()}

    def goes_on(broker: int | None, time: datetime) -> bool:
        """Return whether the broker serves after a start that failed, and before the next one."""
        if broker is None:
            return False
        after = first_after(served.get(broker, ()), time)
        start = first_after(starts.get(broker, ()), time)
        return after is not None and (start is None or after < start)

    seconds = [
        _Second(
            line.broker, line.time - _START, line.time, line.time + _END,
            completed=first_after(completed.get(line.broker, ()), line.time),
        )
        for line in lines
        if line.kind == BrokerKind.START_FAILED
        and (
            _LOCKED in (error := line.error or "")
            or (_REGISTERED in error and goes_on(line.broker, line.time))
        )
    ]  # fmt: skip
    refused = _refused(lines)
    seconds.extend(each for each in refused if goes_on(each.broker, each.ended))
    kept = _without(lines, seconds)
    others = [each for each in refused if each.lines and not goes_on(each.broker, each.ended)]
    if others:
        only_signs = _without_departure(kept, others)
        kept = _without(kept, only_signs)
        seconds.extend(only_signs)
    return kept, [
        RefusedProcess(each.broker, each.failed, each.lines)
        for each in sorted(seconds, key=lambda each: each.failed)
        if each.lines and each.broker is not None
    ]


def _refused(lines: Sequence[BrokerLine]) -> list[_Second]:
    """Return the processes of KRaft that gave up registering, with the lines of those that were refused."""
    found: list[_Second] = []
    open_ones: dict[int | None, int] = {}
    first: dict[int | None, BrokerLine] = {}
    present: dict[int | None, datetime] = {}
    for line in lines:
        if line.kind == BrokerKind.REGISTRATION_REFUSED and line.error == _DUPLICATE:
            first.setdefault(line.broker, line)
        elif line.kind in (BrokerKind.REGISTERED, *SERVES):
            first.pop(line.broker, None)
            present[line.broker] = line.time
        elif line.kind in (*STARTS, BrokerKind.START_FAILED) and line.broker in first:
            del first[line.broker]
        elif _GAVE_UP in (line.error or ""):
            refusal = first.pop(line.broker, None)
            since = (line.time - _REGISTERING if refusal is None else refusal.time) - _START
            since = max(since, present.get(line.broker, since))
            lines_of = () if refusal is None else (refusal.line, line.line)
            open_ones[line.broker] = len(found)
            found.append(_Second(line.broker, since, line.time, line.time, lines_of))
        elif line.kind in _OF_END and line.broker in open_ones:
            last = found[open_ones[line.broker]]
            if line.time <= last.failed + _END:
                found[open_ones[line.broker]] = last._replace(ended=line.time)
    return found


def _without_departure(lines: Sequence[BrokerLine], refused: Sequence[_Second]) -> list[_Second]:
    """Return the refused processes of brokers that were there before, and have no later lines."""
    about = lines_about(_without(lines, refused))

    def is_only_sign(process: _Second) -> bool:
        marks = [] if process.broker is None else about.get(process.broker, [])
        return not marks or (marks[-1][0] is What.BACK and marks[-1][1].time < process.failed)

    return [each for each in refused if is_only_sign(each)]


def _without(lines: Sequence[BrokerLine], seconds: Sequence[_Second]) -> Sequence[BrokerLine]:
    if not seconds:
        return lines
    by_broker: dict[int | None, list[_Second]] = {}
    for each in seconds:
        by_broker.setdefault(each.broker, []).append(each)
    known = {
        broker: Intervals((each.since, each.ended, each) for each in own) for broker, own in by_broker.items()
    }
    return [
        line
        for line in lines
        if line.broker not in known
        or not any(each.has_written(line) for each in known[line.broker].near(line.time))
    ]
