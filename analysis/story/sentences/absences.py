"""The words for a broker that left, and for its return."""

from __future__ import annotations

from collections.abc import Collection
from datetime import date

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence, begin_of
from barnabas.analysis.story.causes import Cause
from barnabas.analysis.story.certainty import Bound, Unknown, latest
from barnabas.analysis.story.incident import Incident
from barnabas.analysis.story.troubles import Trouble
from barnabas.analysis.story.words import at, clock, node

DID = {
    Cause.PLANNED: "shut down as planned",
    Cause.STOPPED: "stopped",
    Cause.NOT_GRANTED: "stopped after a failed controlled shutdown",
    Cause.DIED: "died",
    Cause.LOST_SESSION: "given up by the cluster",
    Cause.UNREGISTERED: "unregistered",
    Cause.UNKNOWN: "lost",
    Cause.LOST_OR_STOPPED: "lost or stopped",
}
"""The words for what happened to a broker, after ``was`` unless it died."""


def did(absence: Absence) -> str:
    """Tell in a few words what happened to a broker."""
    cause = shown_cause(absence)
    return DID[cause] if cause is Cause.DIED else f"was {DID[cause]}"


def shown_cause(absence: Absence) -> Cause:
    """Return the cause that is proven of an absence itself: it may have begun while the process lived on.

    That a process has ended by its next start does not prove that it had when its cluster lost it.
    """
    is_only_ended = absence.cause is Cause.DIED and absence.ended_by is not None
    return Cause.UNKNOWN if is_only_ended else absence.cause


def left(absence: Absence, day: date | None, only: Collection[int]) -> str:
    """Tell when a broker left, and how: planned or not."""
    role = "the active controller" if absence.broker in only else "the controller"
    who = f"{node(absence.broker, only)}{f', {role},' if absence.was_controller else ''}"
    when, reason = at(absence.gone, day), f": {absence.reason}" if absence.reason else ""
    match absence.cause:
        case Cause.PLANNED:
            return f"{who} was shut down {when} (planned: its controlled shutdown succeeded{_cut(absence)})"
        case Cause.STOPPED:
            return f"{who} was stopped {when} (a shutdown is logged{reason}{_cut(absence)})"
        case Cause.NOT_GRANTED:
            return f"{who} was stopped {when} (its controlled shutdown failed{reason}{_cut(absence)})"
        case Cause.DIED if absence.ended_by is not None:
            ended = f"its process had ended by {clock(absence.ended_by, day)}"
            return f"{who} was lost {when} ({absence.reason or 'no shutdown logged'}; {ended})"
        case Cause.DIED:
            return f"{who} died {when} ({absence.reason or 'no shutdown logged'})"
        case Cause.LOST_SESSION:
            why = f" ({absence.reason})" if absence.reason else ""
            return f"{who} was given up by the cluster {when}{why}, although its process lived on"
        case Cause.UNREGISTERED:
            return f"{who} was unregistered {when}"
        case Cause.LOST_OR_STOPPED:
            offline = "it led no more" if absence.is_only_unled else "a controller took its replicas offline"
            why = _not_shown(absence, "when and why it left")
            return f"{who} was lost or stopped ({offline} {at(absence.noticed, day)}; {why})"
    why = "no shutdown logged" if absence.has_own_log else _not_shown(absence, "why")
    return f"{who} was lost {when} ({why})"


def _not_shown(absence: Absence, what: str) -> str:
    """Tell that no line shows something; of a broker without lines that its server.log may."""
    return f"no line shows {what}" if absence.has_spoken else f"{what} is unknown without its server.log"


def _cut(absence: Absence) -> str:
    """Return that a shutdown did not run to its end, if a line proves it."""
    if absence.cut_short is None:
        return ""
    return ", but its process ended before the shutdown was complete, as its next start found"


def failed_start(incident: Incident, absence: Absence) -> Trouble | None:
    """Return the starts of a broker that failed in an absence; None if no line shows any."""
    begin, back = begin_of(absence), latest(absence.returned)
    own = (
        each
        for each in incident.troubles
        if each.first.kind == BrokerKind.START_FAILED
        and each.broker == absence.broker
        and begin <= each.first.time
        and (back is None or each.first.time <= back)
    )
    return next(own, None)


def _failed_to_start(failed: Trouble, day: date | None) -> str:
    """Tell how often a broker failed to start, when first, and why."""
    first, times = failed.first, failed.times
    how_often = "" if times == 1 else f" {times} times, the first"
    # An error that is a sentence has a full stop of its own.
    why = f" ({first.error.rstrip('.')})" if first.error else ""
    return f"failed to start{how_often} at {clock(first.time, day)}{why}"


def returned(incident: Incident, absence: Absence, day: date | None) -> str:
    """Tell when a broker was back, and which starts failed before; or that no line shows a return."""
    failed = failed_start(incident, absence)
    tried = "" if failed is None else f", {_failed_to_start(failed, day)}"
    match absence.returned:
        case Unknown() if absence.lasting is not None:
            still = f"is still gone when the logs end ({clock(absence.lasting, day)}), as far as they show"
            return f"{tried} and {still}"
        case Unknown():
            return f"{tried}, and no line shows a return"
        case Bound(at_least=started, at_most=None) if started is not None:
            again = f"started again at {clock(started, day)}"
            return f"{tried}, and {again}, but no line shows that it was back"
    return f"{tried} and was back {at(absence.returned, day)}"
