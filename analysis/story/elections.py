"""Unclean elections: leaders that were not in sync, so that acknowledged records may be lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import NamedTuple

from barnabas.analysis.reading.events.kinds import Election
from barnabas.analysis.story.certainty import Bound, Fact, Instant, Lines, by
from barnabas.analysis.story.leaderships import is_of_another_cluster
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.partitions import History, Life
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, State


class UncleanElection(NamedTuple):
    """The election of a leader that was not in sync.

    Attributes:
        life: The partition.
        leader: The leader.
        leader_epoch: Its leader epoch; None if no line gives it.
        isr: The ISR before; empty if no line gives it.
        when: The election; only its latest moment if no controller's line shows it.
        lines: The lines that prove it.
    """

    life: Life
    leader: int
    leader_epoch: int | None
    isr: tuple[int, ...]
    when: Instant
    lines: Lines

    @property
    def time(self) -> datetime:
        """Return the latest moment of the election."""
        return by(self.when)


def unclean_elections(states: Iterable[State]) -> Iterator[UncleanElection]:
    """Yield the unclean elections of leaders.

    These are those that KRaft's controller calls so, and those from outside the ISR by a ZooKeeper
    controller, where versions show that nothing lies between. A KRaft leader from outside the ISR may come
    from the eligible leader replicas (KIP-966), of which the brokers' lines say nothing. They lack the
    controller epoch, which ZooKeeper controllers' requests have.
    """
    for before, after in _versions(states):
        if after.leader == NO_LEADER or (after.election or Election.UNCLEAN) != Election.UNCLEAN:
            continue
        isr = () if before is None or not _follows(before, after) else before.isr or ()
        is_outside = bool(isr) and after.leader not in isr
        if after.election is None and (after.controller_epoch is None or not is_outside):
            continue
        when: Instant = Bound(None, after.first_logged) if after.decided is None else Fact(after.decided)
        yield UncleanElection(
            (after.topic, after.partition, after.life), after.leader, after.leader_epoch,
            isr if is_outside else (), when,
            (after.line, before.line) if before is not None and isr else (after.line,),
        )  # fmt: skip


def unclean_choices(
    lines: Iterable[BrokerLine], known: Iterable[UncleanElection], stories: Iterable[History]
) -> list[UncleanElection]:
    """Return the unclean elections that only a line of a controller up to 1.0 shows.

    Args:
        lines: Those lines, which give no leader epoch.
        known: The unclean elections by states.
        stories: The histories of partitions; the latest life of one by a line's time is the line's.
    """
    times: dict[tuple[str, int, int], list[datetime]] = {}
    for each in known:
        times.setdefault((*each.life[:2], each.leader), []).append(each.time)
    begun: dict[tuple[str, int], list[tuple[datetime, int]]] = {}
    for story in stories:
        if story.leaderships:
            begun.setdefault(story.life[:2], []).append((story.leaderships[0].since, story.life[2]))
    found = []
    for line in lines:
        if line.topic is None or line.partition is None or line.subject is None:
            continue
        name = (line.topic, line.partition)
        if any(abs(time - line.time) <= CLOCKS for time in times.get((*name, line.subject), ())):
            continue
        lives = [(since, life) for since, life in begun.get(name, ()) if since <= line.time + CLOCKS]
        life = max(lives, default=(line.time, 0))[1]
        found.append(UncleanElection((*name, life), line.subject, None, (), Fact(line.time), (line.line,)))
    return found


def _follows(before: State, after: State) -> bool:
    """Return whether two states with consecutive versions may be of one partition of one cluster.

    Controller epochs only rise there, and so do leader epochs, by at most one from one state to the next. A
    leader from outside the ISR is alone in its ISR (``PartitionStateMachine``), so a larger one is that of a
    partition that was made again.
    """
    if is_of_another_cluster(before.controller_epoch, after.controller_epoch):
        return False
    was_in_sync = after.leader == NO_LEADER or not before.isr or after.leader in before.isr
    if not was_in_sync and after.isr != (after.leader,):
        return False
    if before.leader_epoch is None or after.leader_epoch is None:
        return True
    return after.leader_epoch - before.leader_epoch in (0, 1)


def consecutive(states: Iterable[State]) -> Iterator[tuple[State, State]]:
    """Yield the pairs of states of one partition whose versions (zkVersion) follow each other."""
    for before, after in _versions(states):
        if before is not None and _follows(before, after):
            yield before, after


def _versions(states: Iterable[State]) -> Iterator[tuple[State | None, State]]:
    """Yield each version's state after that of the version before; None if no line shows that one."""
    by_version: dict[Life, dict[int, State]] = {}
    for state in states:
        if state.version is None or state.isr is None:
            continue
        known = by_version.setdefault((state.topic, state.partition, state.life), {})
        best = known.get(state.version)
        if best is None or (best.decided is None and state.decided is not None):
            known[state.version] = state
    for known in by_version.values():
        for version in sorted(known):
            yield known.get(version - 1), known[version]
