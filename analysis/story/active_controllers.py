"""The times in which controllers of KRaft are active, by their own lines, and what they write meanwhile.

Each controller applies each record: the active one as it writes it, the others some time later, and all of
them again when they start. So the same line has the time of a change only if the active controller wrote it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.events.kinds import Election
from barnabas.analysis.story.rows import BrokerLine, Controller, State
from barnabas.analysis.story.runs import STARTS

_LOADING = timedelta(minutes=10)
"""The time after its start in which a controller may apply the records that others wrote before."""

CONTROLLER_STARTS = (*STARTS, BrokerKind.CONTROLLER_STARTING)
"""The first lines of a process that may be a controller."""

_ENDS = (*CONTROLLER_STARTS, BrokerKind.CONTROLLER_RESIGNED)

_CHANGE = re.compile(r"\bpartition change for \S+-\d+ with topic ID [\w-]+: ")

_BEFORE = re.compile(r"(?P<name>\w+): (?:\[(?P<ids>[\d, ]*)\]|(?P<number>-?\d+)) -> ", re.ASCII)


class _Turn(NamedTuple):
    """A moment at which a controller becomes active, or ceases to be."""

    time: datetime
    is_active: bool


class ActiveControllers:
    """The times in which controllers are active, of those whose own lines show it.

    Args:
        lines: The lines about brokers and controllers.
        controllers: The controllers, by the time of their elections.
    """

    def __init__(self, lines: Iterable[BrokerLine], controllers: Sequence[Controller]) -> None:
        own = {each.broker for each in controllers if _is_own(each)}
        self._turns: dict[int, list[_Turn]] = {
            broker: [_Turn(each.since, each.broker == broker) for each in controllers] for broker in own
        }
        self._starts: dict[int, list[datetime]] = {}
        for line in lines:
            if line.kind not in _ENDS or line.broker is None or line.subject != line.broker:
                continue
            if line.kind in CONTROLLER_STARTS:
                self._starts.setdefault(line.broker, []).append(line.time)
            if line.broker in self._turns:
                self._turns[line.broker].append(_Turn(line.time, is_active=False))
        for turns in self._turns.values():
            turns.sort()
        for starts in self._starts.values():
            starts.sort()

    def is_active(self, broker: int | None, time: datetime) -> bool:
        """Return whether a controller is the active one at a moment."""
        turns = [] if broker is None else self._turns.get(broker, [])
        index = bisect_right(turns, time, key=_time)
        return index > 0 and turns[index - 1].is_active

    def may_load(self, broker: int | None, time: datetime) -> bool:
        """Return whether a controller may still load the log after its last start."""
        starts = [] if broker is None else self._starts.get(broker, [])
        index = bisect_right(starts, time)
        return index > 0 and time <= starts[index - 1] + _LOADING


def with_applied_changes(states: Iterable[State], active: ActiveControllers) -> list[State]:
    """Date the states of which a controller of KRaft writes that they changed, and add those before them.

    A controller that starts writes the changes of a whole past; these count only if no other line shows them,
    which is so of unclean elections at the usual level.

    Args:
        states: The states.
        active: The times in which controllers are active.
    """
    return [each for state in states for each in _applied(state, active)]


def _applied(state: State, active: ActiveControllers) -> Iterator[State]:
    is_undated = state.decided is None and state.changed is not None
    found = _CHANGE.search(state.line.text) if is_undated else None
    if found is None or state.changed is None:
        yield state
        return
    is_dated = active.is_active(state.line.broker, state.changed)
    is_alone = state.led_at is None and state.first_logged == state.changed
    may_be_old = not is_dated and active.may_load(state.line.broker, state.changed)
    if may_be_old and is_alone and state.election != Election.UNCLEAN:
        return
    before = _before(state, state.line.text[found.end() :])
    if before is not None and is_dated:
        yield before
    yield state._replace(
        decided=state.changed if is_dated else None, changed=state.changed if is_dated else None
    )


def _before(state: State, diff: str) -> State | None:
    """Return the state before another one, from the values that a line gives of it."""
    found = {each["name"]: each for each in _BEFORE.finditer(diff)}
    if any(name not in found for name in ("leader", "leaderEpoch", "partitionEpoch")):
        return None
    leader, epoch, version = (
        int(found[name]["number"]) for name in ("leader", "leaderEpoch", "partitionEpoch")
    )
    isr = tuple(int(each) for each in re.findall(r"\d+", found["isr"]["ids"])) if "isr" in found else None
    # The last replica in sync stays in the ISR when it is lost, and was the leader.
    removed = isr[0] if leader < 0 and isr is not None and len(isr) == 1 else None
    return State(
        state.topic, state.partition, state.life, epoch, version, leader, isr, None, None, None,
        state.changed or state.first_logged, None, None, removed, state.line,
    )  # fmt: skip


def _is_own(controller: Controller) -> bool:
    return bool(controller.lines) and controller.lines[0].broker == controller.broker


def _time(turn: _Turn) -> datetime:
    return turn.time
