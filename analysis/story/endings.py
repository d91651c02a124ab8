"""The ends of processes that their Java VMs or the kernel state, in lines without a time of their own."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.runs import SERVES, STARTS


def ended_at_once(
    broker: int, first: datetime, observed: Observed, *, is_alive: Line | None
) -> Sequence[BrokerLine]:
    """Return the line that the process of a broker that left ended at once, if there is one.

    Its time is that of the line above it. One that is later than the first sign of the loss is of a process
    that outlived it; after one that is earlier than another start, a process was there again.

    Args:
        broker: The broker.
        first: The first sign that it is gone, or its next start.
        observed: Everything in the lines.
        is_alive: The line which proves that its process lived on; None if none does.
    """
    if is_alive is not None:
        return ()
    ended = observed.about_within(broker, BrokerKind.ENDED_AT_ONCE, None, first + CLOCKS)[-1:]
    later = (
        line
        for own in ended
        for kind in (*STARTS, *SERVES, BrokerKind.REGISTERED)
        for line in observed.about_within(broker, kind, own.time, first)
        if own.time < line.time < first
    )
    return () if any(later) else ended
