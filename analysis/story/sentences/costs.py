"""The words for what a time without a leader cost."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import date

from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.words import brokers_of, clock, count, lasted


def all_suffered(costs: Sequence[Cost], day: date | None, *, is_named: bool = False) -> str:
    """Return what groups of partitions suffered, and where a group is of those before it, that it is."""
    before: list[Collection[str]] = [(), *(each.partitions for each in costs)]
    return ", and ".join(
        suffered(cost, day, is_named=is_named, among=known)
        for cost, known in zip(costs, before, strict=False)
    )


def suffered(cost: Cost, day: date | None, *, is_named: bool = False, among: Collection[str] = ()) -> str:
    """Return what partitions suffered.

    Args:
        cost: The partitions and their times without a leader.
        day: The day of all times, if they are of one day.
        is_named: Whether the words before name the return.
        among: The partitions that the words before are about.
    """
    number = len(cost.partitions)
    who = cost.partitions[0] if number == 1 else _some(cost.partitions, among)
    had = f"{who} had no leader {lasted(cost.duration)}"
    if cost.times > number:
        how_often = f"{cost.times} times{'' if number == 1 else ' in total'}"
        had = f"{who} had no leader {how_often}, each {lasted(cost.duration)}"
    match cost.ending:
        case Ending.RETURNED if is_named:
            return f"{had}, until it returned"
        case Ending.ELECTED_AGAIN if is_named:
            return f"{had}, until it was elected again"
        case Ending.RETURNED | Ending.MOVED:
            again = " again" if cost.ending is Ending.RETURNED else ""
            return f"{had}, until {brokers_of(cost.leaders)} led {'it' if number == 1 else 'them'}{again}"
        case Ending.ELECTED | Ending.ELECTED_AGAIN:
            again = " again" if cost.ending is Ending.ELECTED_AGAIN else ""
            return f"{had}, until {brokers_of(cost.leaders)} {_was(cost.leaders)} elected{again}"
        case Ending.DELETED:
            return f"{had}, until the topic was deleted"
    begin = "" if cost.begin is None else f" at {clock(cost.begin, day)}"
    if cost.ending is Ending.LASTING and cost.lasting is not None:
        still = f"still {'has' if number == 1 else 'have'} none when the logs end"
        return f"{who} had no leader{begin} and {still} ({clock(cost.lasting, day)}), as far as they show"
    return f"{who} had no leader{begin}, and no line shows who led next"


def _some(partitions: Sequence[str], among: Collection[str]) -> str:
    """Count partitions; a reader would add up those that the words before are about."""
    number = count(len(partitions), "partition")
    if not set(partitions) <= set(among):
        return number
    return (
        f"the same {number}" if len(partitions) == len(among) else f"{len(partitions):,} of these partitions"
    )


def _was(ids: Sequence[int]) -> str:
    return "was" if len(ids) == 1 else "were"


def failed_elections(cost: Cost) -> str:
    """Tell how many elections failed meanwhile; nothing if none did."""
    return f" ({count(cost.failed, 'election')} failed)" if cost.failed else ""
