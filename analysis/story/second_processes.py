"""A process that is started although the broker runs, and ends at once: the first one serves on."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import BrokerLine
from barnabas.analysis.story.runs import ENDS, HANDOVER, STARTS, STOP

_LOCKED = "Failed to acquire lock on file .lock"
"""A running process holds the log directory (``LogManager.lockLogDirs``)."""

_START = timedelta(seconds=60)
"""The longest time from a process's first line to its attempt to lock its log directories."""

_END = timedelta(seconds=30)
"""The longest time from a failed start to the process's last line."""

_OF_START = (*STARTS, BrokerKind.CONFIGURED, BrokerKind.START_FAILED)

_OF_END = (*STOP, *HANDOVER, *ENDS, BrokerKind.START_FAILED)


def without_second_processes(lines: Sequence[BrokerLine]) -> Sequence[BrokerLine]:
    """Leave out the starts and stops of processes that found their log directory locked.

    Args:
        lines: The lines about brokers.
    """
    locked: dict[int | None, list[datetime]] = {}
    for line in lines:
        if line.kind == BrokerKind.START_FAILED and _LOCKED in (line.error or ""):
            locked.setdefault(line.broker, []).append(line.time)
    if not locked:
        return lines
    return [line for line in lines if not _is_of_second(line, locked.get(line.broker, ()))]


def _is_of_second(line: BrokerLine, locked: Sequence[datetime]) -> bool:
    if line.subject is not None and line.subject != line.broker:
        return False
    return any(
        (line.kind in _OF_START and time - _START <= line.time <= time)
        or (line.kind in _OF_END and time <= line.time <= time + _END)
        for time in locked
    )
