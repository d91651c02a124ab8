"""A time in which a broker was gone, or taken for gone."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Instant, Line, Lines, earliest, latest


@dataclass(frozen=True, slots=True)
class Absence:
    """A time in which a broker was gone, or taken for gone.

    Attributes:
        broker: The broker.
        gone: When it left.
        cause: Why it left.
        reason: The text of the line that says why; None if no line does.
        has_own_log: Whether lines of the broker's server.log about its life are among the logs.
        noticed: When a controller first treated it as gone; unknown if no line shows it.
        started: When its next process started; None if no line shows that.
        returned: When it could lead again; unknown if no line shows that it did.
        stopping: When it began to stop, for a logged stop.
        was_controller: Whether it was the controller until then.
        spoke: When it last wrote a line before a KRaft controller fenced it; None if it was not fenced, or
            if it may have been cut off before.
        lines: The lines that prove the absence and its cause.
        cut_short: The line which proves that the process ended before its shutdown was complete; None if none
            does.
        ended_by: When the next process started, if only that shows that the one before had died; None if
            other lines show it, or none does.
        is_only_unled: Whether all that shows it is that partitions which it led had no leader.
        has_spoken: Whether any line of its own is among the logs.
        lasting: When the logs end, if as far as they show it is gone then; None otherwise.
    """

    broker: int
    gone: Instant
    cause: Cause
    reason: str | None
    has_own_log: bool
    noticed: Instant
    started: datetime | None
    returned: Instant
    stopping: datetime | None = None
    was_controller: bool = False
    spoke: datetime | None = None
    lines: Lines = ()
    cut_short: Line | None = None
    ended_by: datetime | None = None
    is_only_unled: bool = False
    has_spoken: bool = False
    lasting: datetime | None = None


def begin_of(absence: Absence) -> datetime:
    """Return the moment by which an absence is ordered: the latest at which the broker left."""
    for known in (latest(absence.gone), latest(absence.noticed), absence.started, earliest(absence.gone)):
        if known is not None:
            return known
    raise AssertionError("an absence has a line, and each line has a time")


def known_end(absence: Absence) -> datetime | None:
    """Return until when a later event may be part of an absence; None if nothing shows its end."""
    return latest(absence.returned)
