"""Fences by a controller of KRaft that may be those of an orderly stop."""

from __future__ import annotations

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.metadata.registrations import MAY_HAVE_STOPPED
from barnabas.analysis.story.certainty import Instant, latest
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import Run


def may_have_stopped(run: Run, gone: Instant) -> BrokerLine | None:
    """Return the record that fenced a broker if it may have asked to stop; None if it had not, or was lost.

    A controller's own line about a fence says that the session timed out. A broker that another one missed
    before the fence was lost, as one that stops ends after it.

    Args:
        run: The lines of its absence, none of which is of a stop.
        gone: When it left, if it was lost.
    """
    fences = run.left().kinds(BrokerKind.BROKER_FENCED)
    if not fences or any(line.error != MAY_HAVE_STOPPED for line in fences):
        return None
    left = latest(gone)
    return fences[0] if left is None or left >= fences[0].time - CLOCKS else None
