"""The words for what a time without a leader cost."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

from barnabas.analysis.story.costs import Cost, Ending
from barnabas.analysis.story.words import brokers_of, clock, count, lasted


def suffered(cost: Cost, day: date | None, *, is_named: bool = False) -> str:
    """Return what partitions suffered; ``is_named`` says whether the words before name the return."""
    number = len(cost.partitions)
    who = cost.partitions[0] if number == 1 else count(number, "partition")
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


def _was(ids: Sequence[int]) -> str:
    return "was" if len(ids) == 1 else "were"


def failed_elections(cost: Cost) -> str:
    """Tell how many elections failed meanwhile; nothing if none did."""
    return f" ({count(cost.failed, 'election')} failed)" if cost.failed else ""
