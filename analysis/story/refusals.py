"""Leaders that were elected and said that they do not lead, because their log directory had failed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import zip_longest

from barnabas.analysis.story.leaderships import Leadership
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import NO_LEADER, Refusal


def without_refused(found: Sequence[Leadership], refusals: Sequence[Refusal]) -> list[Leadership]:
    """Replace the leaders that said they did not lead, and never said that they did, by none."""
    return [
        before
        if (refusal := _refusal(before, after, refusals)) is None
        else before._replace(leader=NO_LEADER, removed=None, refusal=refusal)
        for before, after in zip_longest(found, found[1:])
        if before is not None
    ]


def _refusal(own: Leadership, after: Leadership | None, refusals: Iterable[Refusal]) -> Refusal | None:
    """Return the first line of a leader that it does not lead; None if it led, or no line is of its time.

    If it refuses long after its election, the line that it led may be missing.
    """
    own_lines = (
        each
        for each in refusals
        if own.led_at is None
        and each.broker == own.leader
        and abs(each.time - own.since) <= CLOCKS
        and (after is None or each.time <= after.since)
    )
    return min(own_lines, key=lambda each: each.time, default=None)
