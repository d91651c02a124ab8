"""The return of a broker, from the lines of one absence; ``causes`` says when and why it left."""

from __future__ import annotations

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Fact, Instant, Lines, moment
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import (
    ENDS,
    SENT,
    SERVES,
    STARTS,
    Run,
    What,
    is_fenced_registration,
    is_of_failed_start,
    is_return,
)


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
    started = [line for line in backs if line.kind in (*SERVES, BrokerKind.BROKER_UNFENCED)]
    proven = [line for line in backs if line.kind not in SENT or is_return(run, line)]
    return next(iter((*started, *proven)), None)


def returned_at(run: Run, back: BrokerLine | None) -> Instant:
    """Return when a broker could lead again: after its next start, if that did not fail.

    A registration without a later line is no success either, whichever node logs it: in KRaft the broker
    stays fenced.

    Args:
        run: The lines of the absence.
        back: The best line of its return; None if there is none.
    """
    if back is not None and back.kind in (*SERVES, BrokerKind.BROKER_UNFENCED):
        return Fact(back.time, (back.line,))
    start = run.first(What.START)
    turns = run.kinds(
        *STARTS, *ENDS, BrokerKind.START_FAILED, BrokerKind.REGISTERED, BrokerKind.BROKER_REGISTERED
    )
    if back is None and turns and turns[-1].kind not in STARTS:
        start = None
    lines: Lines = tuple(each.line for each in (start, back) if each is not None)
    since, until = (None if each is None else each.time for each in (start, back))
    return moment(since, until, lines, "no line shows that it returned")
