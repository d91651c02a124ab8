"""Clocks that were set back while a broker wrote a file, as the order of its lines shows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import NamedTuple

from barnabas.analysis.story.certainty import Line
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import SetBack

SURELY = timedelta(minutes=1)
"""The least by which one line alone goes back only with the clock; threads write in less disorder."""


class Step(NamedTuple):
    """A line of a file whose time is before that of the line before.

    Attributes:
        broker: The broker that wrote both.
        first: The time of its first line in the file.
        before: The time of the line before.
        after: The time of the line.
        following: The time of its next line; None if there is none.
        last: The time of its last line in the file.
        line: The line.
    """

    broker: int
    first: datetime
    before: datetime
    after: datetime
    following: datetime | None
    last: datetime
    line: Line


def set_backs_of(steps: Iterable[Step]) -> list[SetBack]:
    """Return of each broker the largest step back of its clock.

    Args:
        steps: The lines that go back by ``CLOCKS`` or more, file by file in their order.

    A thread that was held up writes one line late, and the next line is in order again. A file that was put
    together from others, the newest first, goes back to before all that was written until then. One whose
    lines are grouped, as by partition, goes back to near the begin of the group before.
    """
    files: dict[tuple[int, str], list[Step]] = {}
    for each in steps:
        is_late = each.following is None or each.following >= each.before
        if not is_late or each.before - each.after >= SURELY:
            files.setdefault((each.broker, each.line.source), []).append(each)
    found: dict[int, SetBack] = {}
    for own in files.values():
        if not _overlap(own) or _are_grouped(own):
            continue
        largest = max(own, key=lambda each: each.before - each.after)
        known = found.get(largest.broker)
        if known is None or largest.before - largest.after > known.before - known.after:
            found[largest.broker] = SetBack(largest.broker, largest.before, largest.after, largest.line)
    return [found[broker] for broker in sorted(found)]


def _are_grouped(steps: Sequence[Step]) -> bool:
    """Return whether a step goes back by more than half of the stretch before."""
    begins = (steps[0].first, *(each.after for each in steps))
    return any(
        each.after - begin < each.before - each.after for begin, each in zip(begins, steps, strict=False)
    )


def _overlap(steps: Sequence[Step]) -> bool:
    """Return whether two stretches of a file between its steps are of the same time."""
    stretches = sorted(_stretches(steps))
    latest = stretches[0][1]
    for since, until in stretches[1:]:
        if since + CLOCKS < latest:
            return True
        latest = max(latest, until)
    return False


def _stretches(steps: Sequence[Step]) -> Iterator[tuple[datetime, datetime]]:
    yield steps[0].first, steps[0].before
    for one, other in pairwise(steps):
        yield one.after, max(one.after, other.before)
    yield steps[-1].after, max(steps[-1].after, steps[-1].last)
