"""Orderly stops that only the states of partitions show, as a controller of ZooKeeper mode changes them.

It leaves the leader before out of the ISR of a partition that it moves, without an outage, only if that
leader asked to stop (``ControlledShutdownPartitionLeaderElectionStrategy``). Preferred elections and
reassignments keep it in the ISR, and the loss of the leader makes the partition an OfflinePartition first.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from operator import itemgetter

from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.rows import NO_LEADER, RECORD, BrokerLine, State
from barnabas.analysis.story.runs import ASKED, HANDED_OVER, HANDOVER, STOP

_ONLINE = ("OnlinePartition", "Online")

_ONE_STOP = timedelta(minutes=10)
"""The time around a line about a stop within which the moves of leaders are part of that stop."""


def handed_over(observed: Observed) -> list[BrokerLine]:
    """Return the first move of a leader in each orderly stop that no other line shows, by time.

    Args:
        observed: Everything in the lines.
    """
    lives: dict[tuple[str, int, int], list[State]] = {}
    for state in observed.states:
        if state.leader_epoch is not None:
            lives.setdefault((state.topic, state.partition, state.life), []).append(state)
    refused = {(each.broker, each.topic, each.partition, each.life) for each in observed.refusals}
    moves = [
        (time, broker, state) for known in lives.values() for time, broker, state in _moves(known)
        # A broker that was elected and cannot lead is there.
        if (broker, state.topic, state.partition, state.life) not in refused
    ]  # fmt: skip
    stops: dict[int, list[datetime]] = {}
    found: list[BrokerLine] = []
    for time, broker, state in sorted(moves, key=itemgetter(0, 1)):
        if broker not in stops:
            known = observed.about(broker, *STOP, *HANDOVER, *ASKED)
            stops[broker] = sorted(line.time for line in known)
        index = bisect_left(stops[broker], time - _ONE_STOP)
        if index < len(stops[broker]) and stops[broker][index] <= time + _ONE_STOP:
            continue
        stops[broker].insert(index, time)
        found.append(BrokerLine(time, HANDED_OVER, "controller", state.line.broker, broker, state.line))
    return found


def _moves(states: Sequence[State]) -> Iterator[tuple[datetime, int, State]]:
    """Yield the moves of a partition's leadership from a broker that asked to stop.

    Each has the decision's time, the broker, and the state after it.
    """
    leaders: dict[int, set[int]] = {}
    for state in states:
        leaders.setdefault(state.leader_epoch or 0, set()).add(state.leader)
    for state in states:
        if state.decided is None or state.was not in _ONLINE or not state.isr or _is_record(state):
            continue
        before = leaders.get((state.leader_epoch or 0) - 1, set())
        for broker in before if len(before) == 1 else ():
            if broker not in (NO_LEADER, state.leader, *state.isr):
                yield state.decided, broker, state


def _is_record(state: State) -> bool:
    """Return whether a state is of a metadata log: a controller of KRaft moves a lost broker's leaders so."""
    return state.line.text.startswith(RECORD)
