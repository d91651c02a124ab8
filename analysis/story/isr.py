"""Each partition's in-sync replicas, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.story.assignments import removable, replica_counts
from barnabas.analysis.story.certainty import Bound, Duration, Fact, Line, Unknown
from barnabas.analysis.story.observed import CLOCKS, State

_NEW = ("NewPartition", "New")


class IsrStep(NamedTuple):
    """An ISR and the time in which it held.

    Attributes:
        since: When it was decided or first logged.
        until: When the next one was; None if it is the last.
        size: The number of replicas in sync.
        is_certain: Whether it held from ``since`` to ``until``: versions show that there was no other ISR
            between this one and the next, and a line shows when that was decided.
        line: The line that shows it.
        is_begun: Whether it did not hold before ``since``: a line shows the change to it.
        assigned: The least number of replicas that the partition is proven to have then.
        follows: Whether versions show that there was no other ISR between the one before and this one.
        is_whole: Whether they show that there was none from ``since`` to the next one.
        removable: The replicas that left the ISR then, or that a reassignment removed; no line shows which.
    """

    since: datetime
    until: datetime | None
    size: int
    is_certain: bool
    line: Line
    is_begun: bool = True
    assigned: int = 0
    follows: bool = True
    is_whole: bool = True
    removable: frozenset[int] = frozenset()

    @property
    def held(self) -> Duration:
        """Return how long it held; two lines of one moment give no duration."""
        span = timedelta(0) if self.until is None else self.until - self.since
        if not span or not (self.is_certain or self.is_begun):
            return Unknown("no lines show when it began and ended", (self.line,))
        if self.is_certain and self.is_begun:
            return Fact(span, (self.line,))
        return Bound(span if self.is_certain else None, span if self.is_begun else None, (self.line,))


def _since(state: State) -> datetime:
    """Return when a state was written: at the decision, or before the first line about it.

    A controller that makes a replica offline says the present state again if it need not change it.
    """
    if state.decided is None or state.first_logged < state.decided - CLOCKS:
        return state.first_logged
    return state.decided


def _is_dated(state: State, before: State | None) -> bool:
    """Return whether a line is of the moment at which a state was written, and not of a later one."""
    since = _since(state)
    if since != state.decided:
        return since == state.changed
    is_said_again = state.removed is not None and state.was is None and before is not None
    return not is_said_again or before is None or (before.leader_epoch or 0) < (state.leader_epoch or 0)


def isr_steps(states: Sequence[State]) -> list[IsrStep]:
    """Return the ISRs by version; lines without a version count only where no line of the epoch has one."""
    versioned = {each.leader_epoch for each in states if each.version is not None and each.isr is not None}
    ordered = sorted(
        (each for each in states if each.isr is not None),
        key=lambda each: (each.leader_epoch or 0, each.version or 0, each.first_logged),
    )
    known = (
        (each, assigned, gone)
        for each, assigned, gone in zip(ordered, replica_counts(ordered), removable(ordered), strict=True)
        if each.version is not None or each.leader_epoch not in versioned
    )
    steps: list[IsrStep] = []
    before: State | None = None
    is_sure = True
    for each, assigned, gone in known:
        since, last = _since(each), None if before is None else before.version
        is_next = last is not None and each.version is not None and each.version - last <= 1
        is_dated = _is_dated(each, before)
        before = each
        is_same = bool(steps) and steps[-1].size == len(each.isr or ())
        if is_same and steps[-1].assigned == assigned:
            is_sure = is_sure and is_next
            steps[-1] = steps[-1]._replace(is_whole=is_sure)
            continue
        if steps:
            is_certain = is_sure and is_next and is_dated
            until = max(since, steps[-1].since)
            steps[-1] = steps[-1]._replace(until=until, is_certain=is_certain, is_whole=is_sure and is_next)
        # A leader changes the ISR's size; before a partition was new it had none.
        is_first = each.changed == since or each.version == 0 or each.was in _NEW
        # Of an ISR of the same size only the line that shows its lack of a replica is dated.
        is_begun = is_dated and (is_next or is_first) and not is_same
        size, follows = len(each.isr or ()), is_next or not steps
        steps.append(
            IsrStep(
                since, None, size, is_certain=False, line=each.line, is_begun=is_begun, assigned=assigned,
                follows=follows, removable=gone,
            )
        )  # fmt: skip
        is_sure = True
    return steps
