"""The moment at which a controller first took a broker for gone."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.reading.metadata.registrations import IN_SNAPSHOT
from barnabas.analysis.story.certainty import Bound, Fact, Instant, Unknown
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.removals import is_of_new_controller
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, Controller, State
from barnabas.analysis.story.runs import (
    ASKED,
    HANDED_OVER,
    HANDOVER,
    OFFLINE,
    STOP,
    Run,
    What,
    handover,
    sent_on,
)


def moved_from(states: Iterable[State]) -> dict[int, list[State]]:
    """Return the states that moved a leadership away from each broker and left it out of the ISR, by time."""
    lives: dict[tuple[str, int, int], list[State]] = {}
    for state in states:
        if state.leader_epoch is not None and state.leader != NO_LEADER:
            lives.setdefault((state.topic, state.partition, state.life), []).append(state)
    moved: dict[int, list[State]] = {}
    for known in lives.values():
        known.sort(key=lambda state: (state.leader_epoch or 0, state.first_logged))
        for before, after in pairwise(known):
            if before.leader != after.leader and after.isr and before.leader not in after.isr:
                moved.setdefault(before.leader, []).append(after)
    for found in moved.values():
        found.sort(key=lambda state: state.first_logged)
    return moved


def first_notice(broker: int, run: Run) -> BrokerLine | None:
    """Return the first line by which others took a broker for gone, best one that no stop of it explains."""
    gone_lines = [line for what, line in run.marks if what is What.GONE and line.broker != broker]
    stop_lines = run.left().kinds(*STOP, *HANDOVER, *ASKED)
    is_of_stop, is_sent_on = handover(stop_lines), sent_on(run)
    found = next((line for line in gone_lines if not is_of_stop(line) and not is_sent_on(line)), None)
    if found is not None or any(line.kind == HANDED_OVER for line in stop_lines):
        return found
    return next(iter(gone_lines), None)


def noticed_at(
    run: Run,
    line: BrokerLine | None,
    observed: Observed,
    *,
    gone: datetime | None,
    present: datetime | None,
    moved: Sequence[State],
) -> Instant:
    """Return when a controller first treated a broker as gone; its line ``line`` is the first about that.

    Each new controller takes the replicas of all absent brokers offline again. So that line bounds the time
    only from above if a leadership of a broker that did not stop had been moved before, after its last sign
    of life; or if the controller was just elected after another one than the lost broker.

    Args:
        run: The lines of the absence.
        line: The first line by which others took the broker for gone; None if none does.
        observed: Everything in the lines.
        gone: When the broker left, at the earliest; None if no line bounds it.
        present: When a line last showed it before the absence; None if none does.
        moved: The states that moved a leadership away from it, by time.
    """
    if line is None:
        return Unknown("no controller's line shows it")
    if _may_be_earlier(line, present, observed):
        return Bound(None, line.time, (line.line,))
    alive = gone or present
    if line.kind in OFFLINE and not run.kinds(*STOP, *HANDOVER, *ASKED):
        last = bisect_left(moved, line.time - CLOCKS, key=lambda state: state.first_logged)
        if last and (alive is None or moved[last - 1].first_logged > alive):
            return Bound(None, line.time, (line.line, moved[last - 1].line))
        if _may_repeat(line, observed.controllers):
            return Bound(None, line.time, (line.line,))
    return Fact(line.time, (line.line,))


def _may_be_earlier(notice: BrokerLine, present: datetime | None, observed: Observed) -> bool:
    """Return whether a broker may have been lost before a record that shows it, of which one may be missing.

    A snapshot shows only who was fenced when it was made.
    """
    if notice.error == IN_SNAPSHOT:
        return True
    is_record = notice.controller_epoch is not None
    return is_record and bool(observed.about_within(None, BrokerKind.RECORDS_MISSING, present, notice.time))


def _may_repeat(line: BrokerLine, controllers: Sequence[Controller]) -> bool:
    """Return whether a controller may take a broker offline only because it has just been elected.

    The one before, unless it is the broker that was lost, may have done so earlier.
    """
    index = bisect_right(controllers, line.time, key=lambda each: each.since) - 1
    is_new = is_of_new_controller(line, controllers)
    return is_new and (index == 0 or controllers[index - 1].broker != line.subject)
