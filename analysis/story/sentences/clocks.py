"""The sentence about clocks that differ."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from barnabas.analysis.story.clocks import Difference
from barnabas.analysis.story.words import NAMED, Rounding, duration, node


def clocks_differ(differences: Sequence[Difference], only: Collection[int]) -> str:
    """Return whose clocks differ, and that no times are bounded by lines of both.

    Args:
        differences: The clocks that differ from each other.
        only: The nodes that are controllers and no brokers.
    """
    rest = len(differences) - NAMED
    more = f", and {rest} more" if rest > 0 else ""
    shown = ", ".join(_differs(each, only) for each in differences[:NAMED])
    return f"Clocks differ: {shown}{more}; no time between lines of two such brokers is claimed."


def _differs(difference: Difference, only: Collection[int]) -> str:
    who, other = (node(each, only).lower() for each in (difference.broker, difference.controller))
    by = duration(difference.least, Rounding.DOWN)
    if difference.is_ahead:
        late = f"as it logged each of its elections {by} later or more"
        return f"that of {who} seems to be ahead of {other}'s, {late}"
    return f"that of {who} is at least {by} behind {other}'s"
