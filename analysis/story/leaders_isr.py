"""The ISRs that only their leaders' own lines show.

Up to 2.3 a leader logs a change of the ISR before it writes it to ZooKeeper, and nothing about its success;
it logs a failure (``Cached zkVersion … not equal``). The ISR from which it goes on in its next such line
shows that it succeeded (``Partition.updateIsr``). Meanwhile the leader lets nobody write to the partition, so
the replicas that it takes out count as out of sync from that line on.

Later releases log each change that succeeded, with its version. Of partitions whose leader epochs are not
known these lines are all that there is.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import LeaderIsr, State


def own_states(
    lines: Iterable[LeaderIsr], states: Sequence[State], starts: Mapping[int, Sequence[datetime]]
) -> list[State]:
    """Return the ISRs that lines of leaders about one life of a partition prove.

    Args:
        lines: The lines.
        states: The states of that life that are known otherwise.
        starts: When each broker started, sorted; a broker that starts forgets the ISR.
    """
    ordered = sorted(lines, key=lambda each: (each.time, each.line.source, each.line.block, each.line.number))
    if any(each.version is not None for each in ordered):
        return _versioned(ordered)
    found: list[State] = []
    for chain in _chains(ordered, _Epochs(states), starts):
        found.extend(_of_chain(chain))
    return found


def _versioned(lines: Sequence[LeaderIsr]) -> list[State]:
    """Return the ISRs by lines with versions; none if versions fall, as those of several topics do."""
    found: list[State] = []
    asked: LeaderIsr | None = None
    last = -1
    for each in lines:
        if each.version is None or each.isr is None:
            asked = each
            continue
        if each.version < last:
            return []
        is_answer = asked is not None and asked.broker == each.broker and asked.isr == each.isr
        if asked is not None and is_answer and asked.before and last < each.version - 1:
            found.append(_state(asked, asked.before, None)._replace(version=each.version - 1))
        found.append(_state(each, each.isr, None)._replace(version=each.version, changed=each.time))
        last, asked = each.version, None
    return found


def written_states(lines: Iterable[LeaderIsr], states: Iterable[State]) -> Iterator[State]:
    """Yield the states of partitions that only their leaders can have written, as versions show.

    Each write of a controller raises the leader epoch. So if one state is missing between two, of which the
    next one's leader epoch is the next one, the leader wrote it: the ISR that it had announced.

    Args:
        lines: The lines of leaders about ISRs.
        states: The states of all partitions that are known otherwise.
    """
    asked: dict[tuple[str, int, int], list[LeaderIsr]] = {}
    for line in lines:
        asked.setdefault((line.topic, line.partition, line.life), []).append(line)
    if not asked:
        return
    known: dict[tuple[str, int, int], dict[int, State]] = {}
    for state in states:
        life = (state.topic, state.partition, state.life)
        if life in asked and state.version is not None and state.isr is not None:
            best = known.setdefault(life, {}).setdefault(state.version, state)
            known[life][state.version] = min(best, state, key=lambda each: each.first_logged)
    for life, by_version in known.items():
        for version, before in by_version.items():
            after = by_version.get(version + 2)
            if after is not None and version + 1 not in by_version:
                yield from _written(before, after, asked[life])


def _written(before: State, after: State, lines: Iterable[LeaderIsr]) -> Iterator[State]:
    """Yield the state between two, if its leader announced one change of the ISR between them."""
    epoch, until = before.leader_epoch, after.first_logged
    is_next = epoch is not None and after.leader_epoch == epoch + 1
    between = [each for each in lines if before.first_logged <= each.time <= until]
    if not is_next or len(between) != 1 or between[0].broker != before.leader:
        return
    (line,) = between
    if line.isr is not None and line.version is None and set(line.before) == set(before.isr or ()):
        yield _state(line, line.isr, epoch)._replace(version=(before.version or 0) + 1, changed=line.time)


class _Epochs:
    """The leader epochs of a partition by the time of the first line about each."""

    def __init__(self, states: Sequence[State]) -> None:
        first: dict[int, tuple[datetime, int]] = {}
        for each in states:
            if each.leader_epoch is not None:
                known = first.get(each.leader_epoch, (each.first_logged, each.leader))
                first[each.leader_epoch] = min(known, (each.first_logged, each.leader))
        self._first = sorted((time, epoch, leader) for epoch, (time, leader) in first.items())

    def at(self, time: datetime, broker: int) -> tuple[int | None, bool]:
        """Return the leader epoch of a leader's line; and whether the line is that of the leader then.

        None stands for an epoch before all that are known.
        """
        index = bisect_right(self._first, time + CLOCKS, key=lambda each: each[0])
        for since, epoch, leader in reversed(self._first[:index]):
            if leader == broker:
                return epoch, True
            if since <= time - CLOCKS:
                return None, False
        return None, index == 0


def _chains(
    lines: Sequence[LeaderIsr], epochs: _Epochs, starts: Mapping[int, Sequence[datetime]]
) -> Iterator[list[tuple[LeaderIsr, int | None]]]:
    """Yield changes of which each goes on from the ISR of the one before, with their leader epoch."""
    chain: list[tuple[LeaderIsr, int | None]] = []
    for each in lines:
        last, epoch = chain[-1] if chain else (None, None)
        own, is_leader = epochs.at(each.time, each.broker)
        if each.isr is None:
            # The change before failed, unless it was another broker's.
            if last is not None and last.broker == each.broker:
                yield chain[:-1]
                chain = []
            continue
        goes_on = (
            last is not None
            and (last.broker, epoch) == (each.broker, own)
            and set(last.isr or ()) == set(each.before)
            and not _is_started(starts.get(each.broker, ()), last.time, each.time)
        )
        if not goes_on:
            yield chain
            chain = []
        if is_leader:
            chain.append((each, own))
    yield chain


def _is_started(starts: Sequence[datetime], since: datetime, until: datetime) -> bool:
    return bisect_right(starts, since) < bisect_right(starts, until)


def _of_chain(chain: Sequence[tuple[LeaderIsr, int | None]]) -> Iterator[State]:
    """Yield the ISRs of a chain, each until the next change; the last change may have failed unseen.

    It ends the ISR before nevertheless, but if it takes replicas out, no ISR without them is proven.
    """
    if len(chain) < 2:
        return
    first, epoch = chain[0]
    yield _state(first, first.before, epoch)._replace(kept=first.time)
    for (each, own), (after, _) in pairwise(chain):
        yield _state(each, each.isr or (), own)._replace(changed=each.time, kept=after.time)
    last, own = chain[-1]
    if len(last.isr or ()) > len(last.before):
        yield _state(last, last.isr or (), own)._replace(changed=last.time)


def _state(line: LeaderIsr, isr: tuple[int, ...], epoch: int | None) -> State:
    return State(
        line.topic, line.partition, line.life, epoch, None, line.broker, isr, None, None, None, line.time,
        None, None, None, line.line,
    )  # fmt: skip
