"""Acts of a controller of KRaft after the quorum has elected another one, in which nobody takes part."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from datetime import datetime

from barnabas.analysis.story.controllers import AT_WORK, successions
from barnabas.analysis.story.observed import CLOCKS, BrokerLine, Controller


def without_superseded(
    lines: Sequence[BrokerLine], controllers: Sequence[Controller]
) -> Sequence[BrokerLine]:
    """Leave out what controllers did when they were none any more.

    Up to 3.6 a controller that is cut off from the other voters works on for seconds, fences brokers whose
    heartbeats do not reach it, and takes all of that back when it hears of the next one: its records were
    never committed. Records of a metadata log, which have the epoch of their controller, are.

    Args:
        lines: The lines about brokers.
        controllers: As in ``Observed``.
    """
    turns: dict[int, list[tuple[datetime, bool]]] = {}
    for each in controllers:
        turns.setdefault(each.broker, []).append((each.since, True))
    for before, after in successions(controllers):
        if before.broker != after.broker:
            turns.setdefault(before.broker, []).append((after.since + CLOCKS, False))
    for known in turns.values():
        known.sort()

    def is_superseded(line: BrokerLine) -> bool:
        if line.kind not in AT_WORK or line.broker is None or line.controller_epoch is not None:
            return False
        own = turns.get(line.broker, [])
        index = bisect_right(own, line.time, key=_time)
        return index > 0 and not own[index - 1][1]

    return [line for line in lines if not is_superseded(line)]


def _time(turn: tuple[datetime, bool]) -> datetime:
    return turn[0]
