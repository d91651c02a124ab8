"""Signs of an absence that do not prove one: the broker may have been there."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime
from itertools import pairwise

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.causes import last_of_process
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.directories import failed_directory
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, Controller, State
from barnabas.analysis.story.runs import OFFLINE, SENT, Run, What, sent_on

_ELECTED = "successfully elected as the controller"


def moved_from(states: Iterable[State]) -> dict[int, list[datetime]]:
    """Return when leaderships moved away from each broker that was then left out of the ISR, sorted."""
    lives: dict[tuple[str, int, int], list[State]] = {}
    for state in states:
        if state.leader_epoch is not None and state.leader != NO_LEADER:
            lives.setdefault((state.topic, state.partition, state.life), []).append(state)
    moved: dict[int, list[datetime]] = {}
    for known in lives.values():
        known.sort(key=lambda state: (state.leader_epoch or 0, state.first_logged))
        for before, after in pairwise(known):
            if before.leader != after.leader and after.isr and before.leader not in after.isr:
                moved.setdefault(before.leader, []).append(after.first_logged)
    return {broker: sorted(times) for broker, times in moved.items()}


def is_only_offline(
    broker: int, run: Run, alive: datetime | None, observed: Observed, *, moved: Sequence[datetime]
) -> bool:
    """Return whether a broker need not be gone: only that a controller took replicas of it offline is shown.

    A controller does so, too, when a reassignment or a deletion removes them. More is a leadership that
    moved, or a contact that was lost, after ``alive``, the last sign of life, unless the controller sends
    requests to the broker after that.
    """
    if any(line.kind not in (*OFFLINE, *SENT) for _, line in run.marks):
        return False
    if all(map(sent_on(run), run.kinds(*OFFLINE))):
        return True
    first = run.marks[0][1].time
    since, until = first - CONTACT_WINDOW, first + CONTACT_WINDOW
    contacts = observed.about_within(broker, BrokerKind.CONTACT_LOST, since, until)
    is_moved = any(time <= until and (alive is None or time > alive) for time in moved)
    return not is_moved and not any(line.broker != broker for line in contacts)


def may_be_stop(broker: int, run: Run, observed: Observed) -> bool:
    """Return whether a controller may have taken replicas offline because their broker asked to stop.

    Not if the broker has lines of its own before, or if the controller has just been elected: then it finds
    who is not registered.
    """
    gone = [line for what, line in run.marks if what is What.GONE]
    is_only_gone = bool(gone) and run.states_only(What.GONE, What.BACK)
    if not is_only_gone or any(line.kind not in OFFLINE or line.broker == broker for line in gone):
        return False
    is_silent = observed.last_spoken(broker, gone[0].time) is None
    return is_silent and not _is_of_new_controller(gone[0], observed.controllers)


def _is_of_new_controller(line: BrokerLine, controllers: Sequence[Controller]) -> bool:
    """Return whether a controller takes replicas offline as one does that has just been elected."""
    index = bisect_right(controllers, line.time, key=lambda each: each.since) - 1
    own = controllers[index] if index >= 0 else None
    is_own = own is not None and own.broker == line.broker and _ELECTED in own.lines[0].text
    return is_own and own is not None and line.time <= own.since + CLOCKS


def is_first_start(
    broker: int,
    run: Run,
    lines: Sequence[tuple[What, BrokerLine]],
    observed: Observed,
    since: datetime | None,
) -> bool:
    """Return whether a broker's absence is only its time before its first start in a cluster."""
    what, first = run.marks[0]
    is_renewed = first.kind == BrokerKind.BROKER_REGISTERED and first.error is not None
    is_known = broker in (*first.lost, *first.bounced) or (
        # From 4.0 on, when the line has a broker epoch, a controller fences one that only registered, too.
        first.kind == BrokerKind.BROKER_FENCED and first.broker_epoch is None
    )
    if is_renewed or is_known or run.first(What.START) is None or run.marks[0] != lines[0]:
        return False
    spoken = last_of_process(broker, run.first(What.START), first.time, observed)
    if spoken is not None and (since is None or since <= spoken):
        return False
    return what in (What.START, What.GONE)


def is_present(broker: int, run: Run, observed: Observed) -> bool:
    """Return whether a controller took replicas of a broker offline that was there.

    Every controller does that with the replicas of a log directory that failed; a new controller of ours with
    replicas that restarted unseen, its own included.
    """
    first = run.marks[0][1]
    if any(what not in (What.GONE, What.BACK) for what, _ in run.marks) or run.kinds(BrokerKind.REGISTERED):
        return False
    if any(what is What.GONE and line.kind not in OFFLINE for what, line in run.marks):
        return False
    if first.broker == broker or failed_directory(broker, first.time, observed) is not None:
        return True
    after = observed.last_spoken(broker, first.time + CLOCKS)
    may_speak = not observed.knows_until(first.time + CLOCKS) or (after is not None and after > first.time)
    since = first.time - CONTACT_WINDOW
    silences = observed.about_within(broker, BrokerKind.SESSION_SILENT, since, first.time + CLOCKS)
    return may_speak and not silences


def is_of_directory(broker: int, observed: Observed, line: BrokerLine) -> bool:
    """Return whether replicas went offline by a line because a log directory of their broker had failed."""
    return line.kind in OFFLINE and failed_directory(broker, line.time, observed) is not None
