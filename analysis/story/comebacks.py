"""The return of a broker, from the lines of one absence; ``causes`` says when and why it left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.causes import STARTUP
from barnabas.analysis.story.certainty import Fact, Instant, Lines, moment
from barnabas.analysis.story.closings import found_by_next
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import (
    ENDS,
    IMPLIED,
    SENT,
    SERVES,
    STARTS,
    Run,
    What,
    is_fenced_registration,
    is_of_failed_start,
    is_return,
)

_LONG = timedelta(minutes=1)
"""The time after which a line is no line of the moment before, by another clock or from a full buffer."""

_HIDDEN = timedelta(minutes=1)
"""The shortest time between the end of a process and a start in which another process may hide."""


def line_of_return(run: Run, since: BrokerLine) -> BrokerLine | None:
    """Return the best line of the return: that it serves, else the first that shows it present again."""
    backs = [
        line
        for index, (what, line) in enumerate(run.marks)
        if what is What.BACK
        and line.time >= since.time
        and not is_fenced_registration(line)
        and not is_of_failed_start(run.marks, index)
    ]
    if backs and backs[0].kind == IMPLIED:
        return backs[0]
    started = [line for line in backs if line.kind in (*SERVES, BrokerKind.BROKER_UNFENCED)]
    proven = [line for line in backs if line.kind not in SENT or is_return(run, line)]
    return next(iter((*started, *proven)), None)


def unseen_since(run: Run, back: BrokerLine | None, observed: Observed) -> datetime | None:
    """Return from when on records or lines are missing that may show the return of a broker.

    The broker's own start after records of a metadata log, or after some of them, shows that it did not
    return before. If a broker stopped to the end and its next start finds no clean shutdown, a process
    between the two may have left no line: of logs that a host rolls hourly, an hour is easily lost.
    """
    what, first = run.marks[0]
    begin, is_known = first.time, what is not What.START
    own = max((line.time for line in run.kinds(*STARTS, *SERVES)), default=None)
    for missing in observed.about_within(None, BrokerKind.RECORDS_MISSING, begin, None):
        if is_known and _is_just_before(missing, first):
            continue
        since = _last_before(missing)
        is_back = back is not None and back.time <= since
        if not is_back and (own is None or own <= since):
            return since
    stopped = run.left().kinds(BrokerKind.STOPPED, BrokerKind.NODE_STOPPED)
    found = found_by_next(run)
    is_unclean = any(line.kind == BrokerKind.PREVIOUS_STOP_UNCLEAN for line in found)
    if stopped and is_unclean and found[0].time > stopped[-1].time + _HIDDEN:
        return stopped[-1].time
    return None


def _is_just_before(missing: BrokerLine, line: BrokerLine) -> bool:
    """Return whether records are missing right before another one, whose time the missing ones have."""
    is_same = missing.time == line.time and missing.line.source == line.line.source
    return is_same and missing.line.number < line.line.number


def _last_before(missing: BrokerLine) -> datetime:
    """Return the time of the last record before missing ones."""
    if missing.duration_ms is None:
        return datetime.min  # noqa: DTZ901
    return missing.time - timedelta(milliseconds=missing.duration_ms)


def served_again(broker: int, run: Run, observed: Observed, begins: Sequence[datetime]) -> datetime | None:
    """Return when a broker whose process had ended served again, by its own line; None if none shows it.

    Where it belonged to another cluster from one of ``begins`` on, it did not return to this one.
    """
    ends = [line.time for line in run.kinds(*ENDS) if line.broker == broker]
    served = observed.first_served(broker, ends[-1] + STARTUP) if ends else None
    if served is None or any(ends[-1] <= begin <= served for begin in begins):
        return None
    return served


def writes_on(broker: int, given_up: BrokerLine | None, observed: Observed) -> datetime | None:
    """Return when a broker last wrote a line, if that is long after it was given up; None if it is not.

    It need not be the process that was given up: the lines of the start of another one may be missing.
    """
    times = observed.spoken.get(broker, ())
    if given_up is None or len(times) == 0:
        return None
    return times[-1] if times[-1] > given_up.time + _LONG else None


def has_failed(run: Run) -> bool:
    """Return whether the last start of a broker failed or ended, so that it bounds no return.

    A registration without a later line is no success either, whichever node logs it: in KRaft the broker
    stays fenced.
    """
    turns = run.kinds(
        *STARTS, *ENDS, BrokerKind.START_FAILED, BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED
    )
    return bool(turns) and turns[-1].kind not in STARTS


def last_gone(run: Run, back: BrokerLine | None) -> BrokerLine | None:
    """Return the last line that shows a broker gone before a return that no line states."""
    return run.last_loss() if back is not None and back.kind == IMPLIED else None


def returned_at(
    back: BrokerLine | None, start: BrokerLine | None, unseen: datetime | None, served: datetime | None
) -> Instant:
    """Return when a broker could lead again.

    Args:
        back: The best line of its return; None if there is none.
        start: The line that it was gone until, such as its next start; None if none bounds the return.
        unseen: From when on records or lines are missing that may show it; None if none are.
        served: When its own line shows that it served; None if none does.
    """
    if unseen is None and back is not None and back.kind in (*SERVES, BrokerKind.BROKER_UNFENCED):
        return Fact(back.time, (back.line,))
    lines: Lines = tuple(each.line for each in (start, back) if each is not None)
    return moment(
        None if start is None else start.time,
        served if back is None else back.time,
        lines,
        "no line shows that it returned"
        if unseen is None
        else "records that may show its return are missing",
    )
