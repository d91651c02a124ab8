"""The sentence about clocks that differ."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from datetime import date

from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.rows import SetBack
from barnabas.analysis.story.words import NAMED, Rounding, clock, duration, node


def clocks_differ(
    differences: Sequence[Difference],
    set_backs: Sequence[SetBack],
    only: Collection[int],
    day: date | None = None,
    *,
    is_doubled: bool = False,
) -> str:
    """Return whose clocks differ, and that no times are bounded by lines of both, or only from below.

    Args:
        differences: The clocks that differ from each other.
        set_backs: The clocks that were set back.
        only: The nodes that are controllers and no brokers.
        day: The day of all times; None to print dates.
        is_doubled: Whether times may be of an hour that occurred twice, and an hour off.
    """
    found = [
        *_were_set_back(set_backs, only, day),
        *(_differs(each, node(each.controller, only).lower(), only) for each in differences),
    ]
    rest = len(found) - NAMED
    more = f", and {rest} more" if rest > 0 else ""
    shown = ", ".join(found[:NAMED])
    unless = ", unless lines are of the other one of the two hours" if is_doubled else ""
    claimed = "no time between lines of two such brokers is claimed"
    if differences and all(each.by_offsets for each in differences):
        claimed = "of a time between records of two such brokers only the least is claimed"
    return f"Clocks differ: {shown}{more}{unless}; {claimed}."


def _were_set_back(found: Sequence[SetBack], only: Collection[int], day: date | None) -> Iterator[str]:
    for each in found:
        least, who = duration(each.before - each.after, Rounding.DOWN), node(each.broker, only).lower()
        yield (
            f"that of {who} was set back by {least} or more, or its lines are not in their order: one "
            f"of {clock(each.after, day)} follows on one of {clock(each.before, day)}"
        )


def _differs(difference: Difference, other: str, only: Collection[int]) -> str:
    by, who = duration(difference.least, Rounding.DOWN), f"that of {node(difference.broker, only).lower()}"
    if difference.is_ahead:
        what = "registrations" if difference.is_by_registration else "elections"
        late = f"as it logged each of its {what} {by} later or more"
        return f"{who} seems to be ahead of {other}'s, {late}"
    if difference.by_epochs:
        return f"{who} seems to be at least {by} behind {other}'s, as its controller epoch is the later one"
    why = ", as its later records have earlier times" if difference.by_offsets else ""
    return f"{who} is at least {by} behind {other}'s{why}"
