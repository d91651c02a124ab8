"""The number of replicas that a partition is proven to have in each state, which a reassignment changes.

A reassignment makes the ISR grow by replicas that it adds, and shrink by those that it removes. Neither
proves that a replica was out of sync, so only these count as replicas at a time:

- those that a line names, without those that a reassignment adds;
- those of the ISRs up to then, unless others took their places;
- those of a later ISR, if nothing can have been assigned in between: the controller of ZooKeeper mode raises
  the leader epoch first (``KafkaController.updateLeaderEpochAndSendRequest``), that of KRaft the version.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.story.removals import STEPS, losses
from barnabas.analysis.story.rows import State


@dataclass(frozen=True, slots=True)
class _End:
    """The end of a reassignment, after which the controller removes the replicas that it took away.

    Up to then they are in the ISR (``KafkaController.onPartitionReassignment``, B3 to B5). Each removal
    raises the leader epoch, which a leader that takes a replica out of the ISR does not. A reassignment that
    was cancelled takes away what it had added.

    Attributes:
        time: The first line about the end.
        epoch: The leader epoch of the end.
        adding: The replicas that the reassignment added.
        removing: Those that it removed.
    """

    time: datetime
    epoch: int
    adding: frozenset[int]
    removing: frozenset[int]

    def removed(self, state: State) -> frozenset[int]:
        """Return the replicas that the controller has removed up to a later state."""
        is_step = (state.leader_epoch or 0) > self.epoch and state.first_logged <= self.time + STEPS
        gone = (self.removing - set(state.isr or ())) or (self.adding - set(state.isr or ()))
        return gone if is_step else frozenset()


@dataclass(slots=True)
class _Replicas:
    """The replicas of a partition, as far as they are known up to a state.

    Attributes:
        settled: The replicas, without those that a reassignment may be adding.
        joined: Those in the ISR that a reassignment may be adding.
        adding: Those that a line says to be added.
        removing: Those that a line says to be removed.
        end: The end of the latest reassignment; None if no line shows one.
    """

    settled: set[int] = field(default_factory=set)
    joined: set[int] = field(default_factory=set)
    adding: set[int] = field(default_factory=set)
    removing: set[int] = field(default_factory=set)
    end: _End | None = None

    def learn(self, state: State, adding: tuple[int, ...] | None) -> None:
        """Take over what a state shows.

        Args:
            state: The state.
            adding: What a reassignment adds in that state; None if that is not known.
        """
        isr = set(state.isr or ())
        self.adding |= set(adding or ())
        self.removing |= set(state.removing or ())
        named = set(state.replicas or ()) - set(adding or ())
        if named and (adding is not None or not self.settled or not self.settled < named):
            self.settled, self.joined = named, set()
        elif not self.settled:
            self.settled = isr - set(adding or ()) or isr
        else:
            self.joined |= isr - set(adding or ()) - self.settled
            self._settle(isr, is_over=adding == ())
        if self.end is not None:
            self.settled -= self.end.removed(state)
        if adding == () and not state.removing:
            if self.adding or self.removing:
                self.end = _End(
                    state.first_logged, state.leader_epoch or 0,
                    frozenset((self.adding & isr) - named), frozenset((self.removing & isr) - named),
                )  # fmt: skip
            self.settled -= self.removing - isr
            self.adding, self.removing = set(), set()

    def _settle(self, isr: set[int], *, is_over: bool) -> None:
        """Decide whether the replicas that joined the ISR took the places of others, or are further ones."""
        if not self.joined:
            return
        if self.joined - isr - self.adding:
            # A reassignment that goes on keeps what it added: a replica that leaves again was assigned.
            self.settled |= self.joined
            self.joined = set()
        elif len(isr) >= len(self.settled) and (is_over or self.settled - isr):
            self.settled, self.joined = set(isr), set()

    def count(self, isr: set[int], *, is_moving: bool) -> int:
        """Return the least number of replicas when the ISR is the given one.

        Args:
            isr: The ISR.
            is_moving: Whether a reassignment goes on. Meanwhile the replicas that it removes count, whether
                in sync or not (``OngoingReassignmentState.replicationFactor``).
        """
        return len(self.settled if is_moving else self.settled - (self.removing - isr))


def replica_counts(states: Sequence[State]) -> list[int]:
    """Return for each state the least number of replicas, without those that a reassignment adds.

    Args:
        states: The states of a partition's incarnation with a known ISR, in their order.
    """
    adding = _adding(states)
    later = _assigned_later(states, adding)
    known = _Replicas()
    counts = []
    for index, (state, added) in enumerate(zip(states, adding, strict=True)):
        known.learn(state, added)
        if not index and state.removed is not None and _returns(state.removed, states):
            known.settled.add(state.removed)
        known.settled |= later[index]
        counts.append(known.count(set(state.isr or ()), is_moving=bool(added or state.removing)))
    return counts


def removable(states: Sequence[State]) -> list[frozenset[int]]:
    """Return for each state the replicas that left the ISR just before, perhaps because they were removed.

    The controller of ZooKeeper mode logs which replica it takes out of the ISR, in the same words when its
    broker is gone and when a reassignment ends. The controller of KRaft takes a replica away in one change,
    which raises the leader epoch, and logs no line about it. Up to 3.5 that epoch also rises when a replica
    falls out of sync, so only the replica's return to the ISR, or a line about its broker, tells the two
    apart.

    Args:
        states: The states of a partition's incarnation with a known ISR, in their order.
    """
    found: list[frozenset[int]] = []
    if any(each.controller_epoch is not None or each.decided is not None for each in states):
        lost = losses(states)
        # Of a hundred thousand states, few differ in it.
        alone: dict[int, frozenset[int]] = {}
        return [
            frozenset()
            if each.removed is None or each.first_logged in lost.get(each.removed, ())
            else alone.setdefault(each.removed, frozenset({each.removed}))
            for each in states
        ]
    seen: set[int] = set()
    adding: set[int] = set()
    for before, after in reversed(list(pairwise(states))):
        seen |= set(after.isr or ())
        adding |= set(after.adding or ())
        left = set(before.isr or ()) - set(after.isr or ())
        is_known = after.version is None or after.replicas is not None or after.changed is not None
        is_raised = before.leader_epoch is not None and before.leader_epoch < (after.leader_epoch or 0)
        gone = left - set(before.removing or ()) - (seen - adding)
        found.append(frozenset(gone) if is_raised and not is_known else frozenset())
    return [frozenset(), *reversed(found)][: len(states)]


def _returns(replica: int, states: Sequence[State]) -> bool:
    return any(replica in (state.isr or ()) for state in states)


def _is_next(before: State, after: State) -> bool:
    return before.version is not None and after.version is not None and after.version - before.version <= 1


def _is_same_assignment(before: State, after: State) -> bool:
    """Return whether nothing can have been assigned between two states without a line in between."""
    if before.leader_epoch is None or before.leader_epoch != after.leader_epoch:
        return False
    # A controller's decision, or a leader's line without a version, is of ZooKeeper mode.
    return before.decided is not None or before.version is None or _is_next(before, after)


def _adding(states: Sequence[State]) -> list[tuple[int, ...] | None]:
    """Return for each state what a reassignment adds in it; None if that is not known."""
    found: list[tuple[int, ...] | None] = []
    source: State | None = None
    for state in states:
        if state.adding is not None:
            source = state
            found.append(state.adding)
        elif source is not None and _is_same_assignment(source, state):
            found.append(found[-1])
            source = source if source.decided is not None or source.version is None else state
        else:
            source = None
            found.append(None)
    return found


def _assigned_later(
    states: Sequence[State], adding: Sequence[tuple[int, ...] | None]
) -> list[frozenset[int]]:
    """Return for each state the replicas of later ISRs that were replicas already."""
    nobody: frozenset[int] = frozenset()
    found = [nobody]
    for index, (before, after) in reversed(list(enumerate(pairwise(states)))):
        is_settled = adding[index] == () and adding[index + 1] == ()
        is_known = is_settled and (_is_same_assignment(before, after) or _is_next(before, after))
        # Of a hundred thousand states, most have the same replicas as the next.
        later = found[-1] if is_known else nobody
        isr = after.isr or () if is_known else ()
        found.append(later if later.issuperset(isr) else later.union(isr))
    return found[::-1]
