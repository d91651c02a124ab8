"""The lines of a process about the logs that it finds, which say how the process before had ended."""

from __future__ import annotations

from datetime import timedelta
from itertools import dropwhile, takewhile

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import ASKED, ENDS, HANDOVER, STARTS, STOP, Run, What, is_first_of_process

PREVIOUS = (BrokerKind.PREVIOUS_STOP_CLEAN, BrokerKind.PREVIOUS_STOP_UNCLEAN)

_OF_EMPTY_DISKS = "Attempting recovery for all logs"
"""The words of 2.6 to 3.4 about each directory without a clean shutdown file, also an empty one."""

_FIRST_LINES = timedelta(seconds=10)
"""The longest time between the first lines of a process."""


def cut_short(run: Run) -> Line | None:
    """Return the line of the next start which proves that a logged shutdown did not run to its end.

    A supervisor kills a process that takes too long to stop.
    """
    left, found = run.left(), found_by_next(run)
    is_whole = any(line.kind == BrokerKind.PREVIOUS_STOP_CLEAN for line in found)
    if not found or is_whole or left.kinds(*ENDS) or not left.kinds(*STOP, *HANDOVER, *ASKED):
        return None
    return found[0].line


def found_by_next(run: Run) -> list[BrokerLine]:
    """Return the lines of the next process which say whether it found clean shutdown files, by time.

    A process that starts after that one says it of that one. An empty disk, perhaps of another host, has no
    such file, however the process before ended.
    """
    lines = dropwhile(
        lambda line: line.kind not in PREVIOUS, run.kinds(*PREVIOUS, BrokerKind.LOGS_NEW, *STARTS)
    )
    own = list(takewhile(lambda line: line.kind not in STARTS, lines))
    is_new = any(line.kind == BrokerKind.LOGS_NEW for line in own)
    known = (BrokerKind.PREVIOUS_STOP_CLEAN,) if is_new else PREVIOUS
    return [line for line in own if line.kind in known]


def found_by_first(run: Run) -> BrokerLine | None:
    """Return the line of the first process in an absence by which an earlier one did not close its logs.

    None if something else begins the absence, or no line of that process proves it.
    """
    what, first = run.marks[0]
    if what is not What.START:
        return None
    for _, line in run.marks:
        if line.kind in (BrokerKind.START_FAILED, BrokerKind.LOGS_NEW):
            return None
        if is_first_of_process(line):
            if line.time > first.time + _FIRST_LINES:
                return None
        elif line.kind == BrokerKind.PREVIOUS_STOP_UNCLEAN and _OF_EMPTY_DISKS not in line.line.text:
            return line
    return None
