"""Quiet time: stretches of the logs in which nothing happened, which the page draws folded."""

from __future__ import annotations

from collections.abc import Iterable

SHARE = 0.03
"""The least part of the whole time that is worth a fold."""

LEAST_MS = 60_000
"""The shortest stretch in milliseconds that is folded."""

MOST = 200
"""The most stretches, the longest ones."""


def quiet(happened: Iterable[tuple[int, int]], start: int, end: int) -> list[tuple[int, int]]:
    """Return the stretches between ``start`` and ``end`` in which nothing happened, in order of time.

    Args:
        happened: Begin and end of each thing that happened, in milliseconds, in any order.
        start: The first time in the logs.
        end: The last time in the logs.

    Returns:
        Disjoint stretches of at least ``LEAST_MS`` and ``SHARE`` of the time. A tenth of each stays unfolded
        at both of its ends, so that what happened does not touch the fold.
    """
    least = max(LEAST_MS, SHARE * (end - start))
    found: list[tuple[int, int]] = []
    busy_until = start
    for since, until in sorted(_clipped(one, max(one, other), start, end) for one, other in happened):
        if since - busy_until >= least:
            found.append(_within(busy_until, since))
        busy_until = max(busy_until, until)
    if end - busy_until >= least:
        found.append(_within(busy_until, end))
    longest = sorted(found, key=lambda each: each[0] - each[1])[:MOST]
    return sorted(longest)


def _clipped(since: int, until: int, start: int, end: int) -> tuple[int, int]:
    return min(max(since, start), end), min(max(until, start), end)


def _within(since: int, until: int) -> tuple[int, int]:
    margin = min((until - since) // 10, LEAST_MS)
    return since + margin, until - margin
