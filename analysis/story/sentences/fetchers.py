"""The words for replica fetcher threads that died."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.story.fetchers import leader_of
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.words import clock


def dead_fetchers(deaths: Sequence[BrokerLine], day: date | None) -> str:
    """Tell in a clause which threads had died before the replicas that they fetched fell out of sync."""
    if not deaths:
        return ""
    first = min(deaths, key=lambda each: each.time)
    why = f" ({first.error})" if first.error else ""
    when = f"at {clock(first.time, day)}{why}"
    if len(deaths) == 1:
        return (
            f", after the thread with which broker {first.subject} fetched from broker {leader_of(first)} "
            f"had died {when}"
        )
    return (
        f", after {len(deaths)} threads that fetched replicas had died, that with which broker "
        f"{first.subject} fetched from broker {leader_of(first)} first, {when}"
    )
