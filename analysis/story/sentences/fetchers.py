"""The words for replica fetchers that died, or that lost contact with their leaders."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from barnabas.analysis.story.fetchers import leader_of
from barnabas.analysis.story.incident import Unreached
from barnabas.analysis.story.rows import BrokerLine
from barnabas.analysis.story.words import brokers_of, clock, node, nodes


def dead_fetchers(deaths: Sequence[BrokerLine], day: date | None) -> str:
    """Tell in a clause which threads had died before the replicas that they fetched fell out of sync."""
    if not deaths:
        return ""
    first = min(deaths, key=lambda each: each.time)
    if len(deaths) == 1:
        return f", after the thread {_fetched(first)} had died {_died(first, day)}"
    return (
        f", after {len(deaths)} threads that fetched replicas had died, that {_fetched(first)} first, "
        f"{_died(first, day)}"
    )


def died_alone(deaths: Sequence[BrokerLine], day: date | None) -> str:
    """Tell which threads died, and what that means for the replicas that they fetched."""
    first = deaths[0]
    if len(deaths) == 1:
        return (
            f"The thread {_fetched(first)} died {_died(first, day)}; the replicas that it fetched fall "
            f"behind until broker {first.subject} starts again or another broker leads"
        )
    return (
        f"{len(deaths)} threads that fetched replicas died, that {_fetched(first)} first, "
        f"{_died(first, day)}; what they fetched falls behind until their brokers start again or other "
        "brokers lead"
    )


def _fetched(death: BrokerLine) -> str:
    return f"with which broker {death.subject} fetched from broker {leader_of(death)}"


def _died(death: BrokerLine, day: date | None) -> str:
    why = f" ({death.error})" if death.error else ""
    return f"at {clock(death.time, day)}{why}"


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


def lost_followers(contacts: Sequence[BrokerLine], followers: Sequence[int], day: date | None) -> str:
    """Tell in a clause who lost contact with the brokers whose replicas fell out of sync, and by when."""
    if not contacts:
        return ""
    writers = sorted({each.broker for each in contacts if each.broker is not None})
    whom = "it" if len(followers) == 1 else brokers_of(followers)
    when = clock(min(each.time for each in contacts), day)
    return f"; {brokers_of(writers)} had lost contact with {whom} by {when}, and no line shows why"


def out_of_contact(unreached: Unreached, only: Collection[int], day: date | None) -> str:
    """Tell who could not reach a broker any more, and what is unknown of it."""
    writers = sorted({each.broker for each in unreached.first if each.broker is not None})
    who, whom = nodes(writers, only), node(unreached.broker, only).lower()
    unknown = "without its server.log"
    if unreached.spoke is not None:
        unknown = f"(its own lines end at {clock(unreached.spoke, day)})"
    return (
        f"{who} had lost contact with {whom} by {clock(unreached.first[0].time, day)}, and could not "
        f"connect again at {clock(unreached.tried.time, day)}; whether it was lost or only cut off is "
        f"unknown {unknown}"
    )
