"""Each partition's in-sync replicas, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.story.certainty import Bound, Duration, Fact, Line, Unknown, as_timed
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import NO_LEADER, State

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
        leader: The leader at ``since``.
        fallen: The replicas that the ISR before had, and this one has not.
        removed: The replica that a controller took offline then; None if no line says which.
        isr: The replicas in sync; of several ISRs of this size, those of the last.
    """

    since: datetime
    until: datetime | None
    size: int
    is_certain: bool
    line: Line
    is_begun: bool = True
    assigned: int = 0
    leader: int = NO_LEADER
    fallen: frozenset[int] = frozenset()
    removed: int | None = None
    isr: frozenset[int] = frozenset()

    @property
    def held(self) -> Duration:
        """Return how long it held; two lines of one moment give no duration."""
        span = timedelta(0) if self.until is None else self.until - self.since
        lines = (self.line,)
        if not span or not (self.is_certain or self.is_begun):
            return Unknown("no lines show when it began and ended", lines)
        held: Duration = Bound(span if self.is_certain else None, span if self.is_begun else None, lines)
        if self.is_certain and self.is_begun:
            held = Fact(span, lines)
        return as_timed(held, lines)


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
    if state.removed is None or state.was is not None:
        return True
    # A controller says the ISR again if it takes a replica offline that is not in it.
    if state.led_at is not None and state.led_at < since:
        return False
    return before is None or (before.leader_epoch or 0) < (state.leader_epoch or 0)


def _in_order(states: Sequence[State]) -> list[State]:
    """Order the states by version, without those of which no line gives the place among the others.

    Up to 3.0 a controller logs no version for a replica that it removes, which begins a leader epoch, so
    such a state comes before all states with versions that are logged later in its leader epoch.
    """
    known = [each for each in states if each.isr is not None]
    first: dict[int | None, datetime] = {}
    for each in known:
        if each.version is not None:
            first[each.leader_epoch] = min(each.first_logged, first.get(each.leader_epoch, each.first_logged))
    placed = (
        each for each in known
        if each.version is not None or each.first_logged < first.get(each.leader_epoch, datetime.max)  # noqa: DTZ901
    )  # fmt: skip
    return sorted(placed, key=lambda each: (each.leader_epoch or 0, each.version or 0, each.first_logged))


def _replica_counts(states: Sequence[State]) -> list[int]:
    """Return for each state the least number of replicas.

    Where no line says which of them a reassignment adds, they are those of all ISRs up to then, but for what
    one adds or removes: the ISR grows and shrinks by these, and they prove no replica out of sync.
    """
    known: set[int] = set()
    moving: set[int] = set()
    counts = []
    for state in states:
        moving |= {*(state.adding or ()), *(state.removing or ())}
        named = None if state.replicas is None else {*state.replicas}
        if named is not None and state.adding is not None:
            known = named - {*state.adding, *(state.removing or ())}
        else:
            known |= {*(state.isr or ())} - moving
            known = known if named is None else known & named
        counts.append(len(known))
    return counts


def isr_steps(states: Sequence[State]) -> list[IsrStep]:
    """Return the ISRs by version."""
    ordered = _in_order(states)
    steps: list[IsrStep] = []
    before: State | None = None
    is_sure = True
    for each, assigned in zip(ordered, _replica_counts(ordered), strict=True):
        isr, last = frozenset(each.isr or ()), None if before is None else before.version
        is_next = last is not None and each.version is not None and each.version - last <= 1
        is_dated = _is_dated(each, before)
        fallen = frozenset(() if before is None else before.isr or ()) - isr
        before = each
        is_same = bool(steps) and steps[-1].size == len(isr)
        if is_same and steps[-1].assigned == assigned:
            is_sure = is_sure and is_next
            steps[-1] = steps[-1]._replace(isr=isr)
            continue
        since = _since(each)
        if steps:
            is_certain = is_sure and is_next and is_dated
            steps[-1] = steps[-1]._replace(until=max(since, steps[-1].since), is_certain=is_certain)
        # A leader changes the ISR's size; before a partition was new it had none.
        is_first = each.changed == since or each.version == 0 or each.was in _NEW
        # Of an ISR of the same size only the line that shows its lack of a replica is dated.
        is_begun = is_dated and (is_next or is_first) and not is_same
        steps.append(
            IsrStep(
                since, None, len(isr), is_certain=False, line=each.line, is_begun=is_begun, assigned=assigned,
                leader=each.leader, fallen=fallen, removed=each.removed, isr=isr,
            )
        )  # fmt: skip
        is_sure = True
    return steps
