"""The words for replica fetchers that died, or that lost contact with their leaders."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.story.fetchers import leader_of
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.words import brokers_of, clock


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


def lost_leaders(contacts: Sequence[BrokerLine]) -> str:
    """Tell in a clause which brokers lost contact with the leaders of the replicas that fell out of sync."""
    if not contacts:
        return ""
    leaders: dict[int, list[int]] = {}
    for each in contacts:
        if each.broker is not None and each.subject is not None:
            leaders.setdefault(each.broker, []).append(each.subject)
    pairs = ", ".join(f"broker {broker} with {brokers_of(lost)}" for broker, lost in sorted(leaders.items()))
    return f"; their brokers lost contact with the leaders ({pairs})"
