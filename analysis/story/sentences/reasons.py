"""The words for why partitions had no leader though no broker left."""

from __future__ import annotations

from datetime import date

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.certainty import Bound, Fact
from barnabas.analysis.story.costs import Reason
from barnabas.analysis.story.rows import BrokerLine, Refusal
from barnabas.analysis.story.words import at, clock


def why(reason: Reason) -> str:
    """Tell in a few words why partitions had no leader though no broker left, or what failed."""
    if isinstance(reason, Refusal):
        return f"broker {reason.broker} refused to lead, as a log directory was offline"
    # A controller's line may not name the broker.
    whose = "" if reason.subject is None else f" of broker {reason.subject}"
    if reason.kind == BrokerKind.BOUNCED_UNSEEN:
        return f"broker {reason.subject} had registered again"
    return f"a log directory{whose} had failed"


def why_and_when(reason: Reason, day: date | None) -> str:
    """Tell why partitions had no leader, when that was, and which directory it was."""
    if isinstance(reason, Refusal):
        return f"{why(reason)} {at(Fact(reason.time), day)}"
    if reason.kind == BrokerKind.BOUNCED_UNSEEN:
        return f"{why(reason)}, as a controller found by {clock(reason.time, day)}"
    return f"{why(reason)} {_when(reason, day)}{f' ({reason.error})' if reason.error else ''}"


def _when(line: BrokerLine, day: date | None) -> str:
    # A controller gets the number from the broker.
    return at(Bound(None, line.time) if line.role == "controller" else Fact(line.time), day)
