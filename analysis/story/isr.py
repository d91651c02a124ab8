"""Each partition's in-sync replicas, step by step."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.story.assignments import removable, replica_counts
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
        follows: Whether versions show that there was no other ISR between the one before and this one.
        is_whole: Whether they show that there was none from ``since`` to the next one.
        removable: The replicas that left the ISR then, or that a reassignment removed; no line shows which.
        is_longer: Whether it held on after ``until``: its leader logs a change before it makes it.
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
    follows: bool = True
    is_whole: bool = True
    removable: frozenset[int] = frozenset()
    is_longer: bool = False
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
        if self.is_longer:
            held = Bound(span if self.is_certain else None, None, lines)
        elif self.is_certain and self.is_begun:
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


def _is_own(state: State) -> bool:
    """Return whether only lines of a leader without a version show a state."""
    return state.version is None and (state.changed is not None or state.kept is not None)


def _in_order(states: Iterable[State]) -> list[State]:
    """Order states by version; those that only their leaders show come after what was logged before them."""
    known = [each for each in states if each.isr is not None]
    versions: dict[int | None, list[tuple[datetime, int]]] = {}
    for each in sorted(known, key=lambda each: each.first_logged):
        if each.version is not None:
            past = versions.setdefault(each.leader_epoch, [])
            past.append((each.first_logged, max(each.version, past[-1][1] if past else 0)))

    def place(state: State) -> tuple[int, int, datetime]:
        version, past = state.version, versions.get(state.leader_epoch, ())
        if _is_own(state) and (index := bisect_right(past, state.first_logged, key=lambda each: each[0])):
            version = past[index - 1][1]
        return state.leader_epoch or 0, version or 0, state.first_logged

    return sorted(known, key=place)


def _placed(ordered: Sequence[State]) -> list[State | None]:
    """Return the states with their versions, and None for those whose place among the others is not known.

    The place of a state without a version is known where no line of the leader epoch has one, and before all
    lines that have: up to 3.0 a controller logs none for a replica that it removes, which begins a leader
    epoch. Each state is a change of its own, so if there are as many between two versions as these leave room
    for, they have the versions in between. That of a leader that logs its changes without versions is known.
    """
    first: dict[int | None, datetime] = {}
    for each in ordered:
        if each.version is not None:
            first[each.leader_epoch] = min(each.first_logged, first.get(each.leader_epoch, each.first_logged))
    found: list[State | None] = []
    last, between = -1, dict[int, State]()
    for index, each in enumerate(ordered):
        found.append(each)
        if each.version is None:
            begun = first.get(each.leader_epoch)
            if _is_own(each) or begun is None or each.first_logged < begun:
                between[index] = each
            else:
                found[index] = None
            continue
        if each.version - last == len(between) + 1 and all(_is_before(one, each) for one in between.values()):
            for version, (place, one) in enumerate(between.items(), last + 1):
                found[place] = one._replace(version=version)
        last, between = each.version, {}
    return found


def _is_before(state: State, after: State) -> bool:
    """Return whether a state without a version was surely there before one that has a version."""
    if _is_own(state) or state.leader_epoch is None or after.leader_epoch is None:
        return False
    if state.leader_epoch < after.leader_epoch or after.changed is None:
        return state.leader_epoch < after.leader_epoch
    by_its_leader = state.led_at is not None and state.led_at < after.changed
    return by_its_leader or state.first_logged < after.changed - CLOCKS


def isr_steps(states: Sequence[State]) -> list[IsrStep]:
    """Return the ISRs by version."""
    ordered = _in_order(states)
    known = (
        (each, assigned, gone)
        for each, assigned, gone in zip(
            _placed(ordered), replica_counts(ordered), removable(ordered), strict=True
        )
        if each is not None
    )
    steps: list[IsrStep] = []
    before: State | None = None
    kept: datetime | None = None
    is_sure = True
    for each, assigned, gone in known:
        since, last = _since(each), None if before is None else before.version
        goes_on = kept is not None and kept == each.changed
        is_next = goes_on or (last is not None and each.version is not None and each.version - last <= 1)
        is_dated = _is_dated(each, before)
        fallen = frozenset(() if before is None else before.isr or ()) - frozenset(each.isr or ())
        before = each
        is_same = bool(steps) and steps[-1].size == len(each.isr or ())
        if is_same and steps[-1].assigned == assigned:
            is_sure = is_sure and is_next
            kept = each.kept or kept
            steps[-1] = steps[-1]._replace(is_whole=is_sure, isr=frozenset(each.isr or ()))
            continue
        if steps:
            until = max(since, steps[-1].since)
            is_whole = goes_on or (is_sure and is_next)
            ended = steps[-1]._replace(until=until, is_certain=is_whole and is_dated, is_whole=is_whole)
            steps[-1] = _as_kept(ended, kept)
        # A leader changes the ISR's size; before a partition was new it had none.
        is_first = each.changed == since or each.version == 0 or each.was in _NEW
        # Of an ISR of the same size only the line that shows its lack of a replica is dated.
        is_begun = is_dated and (is_next or is_first) and not is_same
        size, follows = len(each.isr or ()), is_next or not steps
        steps.append(
            IsrStep(
                since, None, size, is_certain=False, line=each.line, is_begun=is_begun, assigned=assigned,
                follows=follows, removable=gone, leader=each.leader, fallen=fallen, removed=each.removed,
                isr=frozenset(each.isr or ()),
            )
        )  # fmt: skip
        is_sure, kept = True, each.kept
    return [*steps[:-1], _as_kept(steps[-1], kept)] if steps else []


def _as_kept(step: IsrStep, kept: datetime | None) -> IsrStep:
    """End an ISR where its leader's next line shows that it was still the ISR, unless another came before."""
    if kept is None or kept < step.since or (step.until is not None and step.until < kept):
        return step
    return step._replace(until=kept, is_certain=True, is_longer=True)
