"""A process that is started although the broker runs, and ends at once: the first one serves on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.observed import BrokerLine, first_after
from barnabas.analysis.story.runs import ENDS, HANDOVER, SERVES, STARTS, STOP

_LOCKED = "Failed to acquire lock on file .lock"
"""A running process holds the log directory (``LogManager.lockLogDirs``)."""

_REGISTERED = "NodeExists"
"""The broker id is registered in ZooKeeper, maybe by the former session of a process that died."""

_START = timedelta(seconds=60)
"""The longest time from a process's first line to the failure of its start."""

_END = timedelta(seconds=30)
"""The longest time from a failed start to the process's last line."""

_OF_START = (*STARTS, BrokerKind.CONFIGURED, BrokerKind.START_FAILED, BrokerKind.REGISTRATION_REFUSED)

_OF_END = (*STOP, *HANDOVER, *ENDS, BrokerKind.START_FAILED)


def without_second_processes(
    lines: Sequence[BrokerLine], served: Mapping[int, Sequence[datetime]]
) -> Sequence[BrokerLine]:
    """Leave out the starts and stops of processes that found that the broker runs.

    A process that holds the lock of the log directory runs. That a broker id is registered shows this only if
    the broker writes lines later, as one does that has started, before any other start.

    Args:
        lines: The lines about brokers.
        served: As in ``Observed``.
    """
    starts: dict[int, list[datetime]] = {}
    for line in lines:
        if line.broker is not None and line.kind in (*STARTS, *SERVES):
            starts.setdefault(line.broker, []).append(line.time)
    starts = {broker: sorted(times) for broker, times in starts.items()}

    def goes_on(failed: BrokerLine) -> bool:
        """Return whether the broker serves after a start that failed, and before the next one."""
        if failed.broker is None:
            return False
        after = first_after(served.get(failed.broker, ()), failed.time)
        start = first_after(starts.get(failed.broker, ()), failed.time)
        return after is not None and (start is None or after < start)

    failed: dict[int | None, list[datetime]] = {}
    for line in lines:
        error = line.error or "" if line.kind == BrokerKind.START_FAILED else ""
        if _LOCKED in error or (_REGISTERED in error and goes_on(line)):
            failed.setdefault(line.broker, []).append(line.time)
    if not failed:
        return lines
    return [line for line in lines if not _is_of_second(line, failed.get(line.broker, ()))]


def _is_of_second(line: BrokerLine, failed: Sequence[datetime]) -> bool:
    if line.subject is not None and line.subject != line.broker:
        return False
    return any(
        (line.kind in _OF_START and time - _START <= line.time <= time)
        or (line.kind in _OF_END and time <= line.time <= time + _END)
        for time in failed
    )
