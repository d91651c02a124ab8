"""The replicas that a controller took offline because their broker was gone, not because they were removed.

A controller removes a replica from the ISR in the same words when its broker is gone, when a reassignment
takes it off the broker, and when its topic is deleted. A reassignment raises the leader epoch just before,
once more than the removal itself (``KafkaController.moveReassignedPartitionLeaderIfRequired``); a deletion
removes all replicas at once. When a broker asks to stop, the controller takes the replicas offline that only
follow, and the broker ends later (``KafkaController.doControlledShutdown``).
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.contacts import CONTACT_WINDOW
from barnabas.analysis.story.observed import CLOCKS, Observed
from barnabas.analysis.story.rows import NO_LEADER, BrokerLine, Controller, State
from barnabas.analysis.story.runs import Run, What
from barnabas.cluster.model.statechange import Kind

STEPS = timedelta(seconds=60)
"""The longest time between the steps with which a reassignment, or a deletion, ends."""


_ELECTED = "successfully elected as the controller"


def losses(states: Iterable[State]) -> dict[int, list[datetime]]:
    """Return when a controller took replicas of each broker offline that stayed assigned to it, sorted."""
    lives: dict[tuple[str, int, int], list[State]] = {}
    for state in states:
        if state.leader_epoch is not None:
            lives.setdefault((state.topic, state.partition, state.life), []).append(state)
    found: dict[int, list[datetime]] = {}
    for known in lives.values():
        if any(state.removed is not None for state in known):
            for broker, time in _losses(known):
                found.setdefault(broker, []).append(time)
    for times in found.values():
        times.sort()
    return found


def _losses(states: Sequence[State]) -> Iterator[tuple[int, datetime]]:
    """Yield the brokers whose replicas of a partition stayed assigned, each with the time of the removal."""
    by_epoch: dict[int, list[State]] = {}
    assigned: dict[int, int] = {}
    last_led = -1
    for state in states:
        epoch = state.leader_epoch or 0
        by_epoch.setdefault(epoch, []).append(state)
        for broker in set(state.replicas or ()) - set(state.removing or ()):
            assigned[broker] = max(epoch, assigned.get(broker, epoch))
        if state.leader != NO_LEADER:
            last_led = max(epoch, last_led)
    unled = sorted(
        state.first_logged
        for state in states
        if state.leader == NO_LEADER and (state.leader_epoch or 0) > last_led
    )
    for removal in states:
        gone = removal.removed
        if gone is None:
            continue
        epoch = removal.leader_epoch or 0
        is_assigned = assigned.get(gone, -1) >= epoch or _is_back(gone, removal, by_epoch[epoch])
        until = removal.first_logged + STEPS
        may_be_deleted = any(removal.first_logged <= time <= until for time in unled)
        if is_assigned or (not may_be_deleted and _has_no_step_before(removal, by_epoch.get(epoch - 1, ()))):
            yield gone, removal.first_logged


def _is_back(broker: int, removal: State, of_epoch: Iterable[State]) -> bool:
    """Return whether a replica came back into the ISR, which only one that is assigned does."""
    return any(
        broker in (each.isr or ()) and (each.version or 0) > (removal.version or 0) for each in of_epoch
    )


def _has_no_step_before(removal: State, before: Iterable[State]) -> bool:
    """Return whether the leader epoch before a removal is not of a step of the same reassignment."""
    return any(each.leader_epoch == 0 or each.first_logged < removal.first_logged - STEPS for each in before)


def may_be_stop(
    broker: int, run: Run, alive: datetime | None, moved: Sequence[State], observed: Observed
) -> bool:
    """Return whether a controller may have taken replicas offline because their broker asked to stop.

    Not if the broker's own log shows no stop, if others had lost their contacts, if a leadership moved as it
    does after a loss, or if the controller has just been elected: then it finds who is not registered. A
    broker with lines of its own that is silent afterwards was lost.

    Args:
        broker: The broker.
        run: The lines of its absence.
        alive: When a line last showed it present before; None if none does.
        moved: The states that moved a leadership away from it, by time.
        observed: Everything in the lines.
    """
    gone = [line for what, line in run.marks if what is What.GONE]
    if not gone or not run.states_only(What.GONE, What.BACK):
        return False
    if any(
        line.kind not in (Kind.ISR_REMOVAL, Kind.REPLICA_CHANGE) or line.broker == broker for line in gone
    ):
        return False
    first = gone[0].time
    since = first - CONTACT_WINDOW
    if observed.last_spoken(broker, first) is not None:
        return False
    if any(
        line.broker != broker for line in observed.about_within(broker, BrokerKind.CONTACT_LOST, since, first)
    ):
        return False
    index = bisect_right(moved, since if alive is None else alive, key=_first_logged)
    is_moved = index < len(moved) and moved[index].first_logged <= first + CONTACT_WINDOW
    return not is_moved and not is_of_new_controller(gone[0], observed.controllers)


def is_of_new_controller(line: BrokerLine, controllers: Sequence[Controller]) -> bool:
    """Return whether a controller takes replicas offline as one does that has just been elected."""
    index = bisect_right(controllers, line.time, key=_since) - 1
    if index < 0:
        return False
    own = controllers[index]
    return own.broker == line.broker and _ELECTED in own.lines[0].text and line.time <= own.since + CLOCKS


def _first_logged(state: State) -> datetime:
    return state.first_logged


def _since(controller: Controller) -> datetime:
    return controller.since
