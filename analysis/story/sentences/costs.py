"""The words for what a time without a leader cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.words import brokers_of, clock, count, lasted, partition_names


def unled(costs: Sequence[Cost]) -> str:
    """Tell in a few words how many partitions had no leader; nothing if none had none."""
    names = {name for cost in costs for name in cost.partitions}
    lasting = {name for cost in costs if cost.ending is Ending.LASTING for name in cost.partitions}
    if not names:
        return ""
    who = next(iter(names)) if len(names) == 1 else count(len(names), "partition")
    if not lasting:
        return f"{who} had no leader"
    has = "has" if len(names) == 1 else "have"
    return (
        f"{who} {has} no leader"
        if lasting == names
        else f"{who} had no leader, {len(lasting)} still have none"
    )


def suffered(cost: Cost, day: date | None) -> str:
    """Return what partitions suffered: which, for how long, and who led them afterwards."""
    number = len(cost.partitions)
    who = cost.partitions[0] if number == 1 else count(number, "partition")
    had = f"{who} had no leader {lasted(cost.duration)}"
    if cost.times > number:
        how_often = f"{cost.times} times{'' if number == 1 else ' in total'}"
        had = f"{who} had no leader {how_often}, each {lasted(cost.duration)}"
    failed = f" ({count(cost.failed, 'election')} failed)" if cost.failed else ""
    names = f": {partition_names(cost.partitions)}" if number > 1 else ""
    return f"{_until(cost, had, who, day)}{failed}{names}"


def _until(cost: Cost, had: str, who: str, day: date | None) -> str:
    match cost.ending:
        case Ending.RETURNED | Ending.MOVED:
            again = " again" if cost.ending is Ending.RETURNED else ""
            them = "it" if len(cost.partitions) == 1 else "them"
            return f"{had}, until {brokers_of(cost.leaders)} led {them}{again}"
        case Ending.ELECTED | Ending.ELECTED_AGAIN:
            again = " again" if cost.ending is Ending.ELECTED_AGAIN else ""
            was = "was" if len(cost.leaders) == 1 else "were"
            return f"{had}, until {brokers_of(cost.leaders)} {was} elected{again}"
        case Ending.DELETED:
            return f"{had}, until the topic was deleted"
    begin = "" if cost.begin is None else f" at {clock(cost.begin, day)}"
    if cost.lasting is None:
        return f"{who} had no leader{begin}, and no line shows who led next"
    still = f"still {'has' if len(cost.partitions) == 1 else 'have'} none when the logs end"
    return f"{who} had no leader{begin} and {still} ({clock(cost.lasting, day)}), as far as they show"
