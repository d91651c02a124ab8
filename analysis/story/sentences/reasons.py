"""The words for why partitions had no leader though no broker left."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Bound, Fact
from barnabas.analysis.story.costs import Reason
from barnabas.analysis.story.rows import BrokerLine, Mark, Refusal
from barnabas.analysis.story.words import at, clock

OFFLINE_DIRECTORY = "because its replica's log directory was offline"


def _because(reason: Reason, day: date | None) -> str:
    if isinstance(reason, Mark):
        return f"no replica of partitions created by {clock(reason.time, day)} was alive"
    return refused(reason, day) if isinstance(reason, Refusal) else failed_directory(reason, day)


def with_reason(reason: Reason | None, suffered: str, day: date | None) -> str:
    """Return what partitions suffered, with the reason, which is not that of others."""
    return f"no line shows why {suffered}" if reason is None else f"{_because(reason, day)}, and {suffered}"


def failed_directory(line: BrokerLine, day: date | None) -> str:
    """Tell which broker's log directory had failed, or which broker had registered again unseen."""
    if line.kind == BrokerKind.BOUNCED_UNSEEN:
        return f"broker {line.subject} had registered again, as a controller found by {clock(line.time, day)}"
    which = f" ({line.error})" if line.error else ""
    return f"a log directory of broker {line.subject} had failed {_when(line, day)}{which}"


def failed_directories(lines: Sequence[BrokerLine], day: date | None) -> str:
    """Tell of a broker that stayed which log directories of it had failed.

    Args:
        lines: The lines about that, the broker's own ones first.
        day: The day of all times, if they are of one day; None to print dates.
    """
    first = lines[0]
    names = {line.error: None for line in lines if line.role == first.role and line.error}
    if len(names) < 2:
        return failed_directory(first, day)
    when, which = _when(first, day), ", ".join(names)
    return f"log directories of broker {first.subject} had failed, the first {when} ({which})"


def _when(line: BrokerLine, day: date | None) -> str:
    # A controller gets the number from the broker.
    return at(Bound(None, line.time) if line.role == "controller" else Fact(line.time), day)


def refused(refusal: Refusal, day: date | None) -> str:
    """Tell which broker refused to lead."""
    when = at(Fact(refusal.time), day)
    return f"broker {refusal.broker} refused to lead {when} {OFFLINE_DIRECTORY}"
