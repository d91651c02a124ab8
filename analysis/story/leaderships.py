"""The leaderships of a partition, put together from the states that its lines show."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple

from barnabas.analysis.story.certainty import Fact, Instant, Line, moment
from barnabas.analysis.story.observed import CLOCKS
from barnabas.analysis.story.rows import NO_LEADER, Refusal, State

_OFFLINE = ("OfflinePartition", "Offline")
_ONLINE = ("OnlinePartition", "Online")
_NEW = ("NewPartition", "New")

_SENT = timedelta(seconds=5)
"""The longest time from a controller's decision to its first request about it."""


class Leadership(NamedTuple):
    """A leader in a leader epoch, put together from all lines about it.

    Attributes:
        leader: The leader; -1 for none.
        epoch: The leader epoch; None for releases up to 1.0 of which only decisions are logged.
        decided: When a controller logged it; None if no such line exists.
        elected: When a controller logged the election itself. A controller that takes a replica offline logs
            the state that it leaves, too, which may be long after the election.
        first_logged: The first line about it.
        led_at: When the leader logged that it leads.
        was_offline: Whether the controller says that there was no leader just before.
        was_online: Whether the controller says that there was a leader just before.
        removed: The replica whose removal led to it.
        isr: The ISR at its begin.
        replicas: The replicas; None if no line gives them.
        version: The lowest version (zkVersion or partition epoch) known of it.
        last_version: The highest version known of it.
        controller_epoch: The epoch of the controller that decided.
        line: The best line.
        refusal: The line of the elected broker that it does not lead; then ``leader`` is -1.
        was_new: Whether the controller says that the partition had been created and never had a leader.
    """

    leader: int
    epoch: int | None
    decided: datetime | None
    elected: datetime | None
    first_logged: datetime
    led_at: datetime | None
    was_offline: bool
    removed: int | None
    isr: tuple[int, ...] | None
    version: int | None
    last_version: int | None
    controller_epoch: int | None
    line: Line
    was_online: bool = False
    refusal: Refusal | None = None
    was_new: bool = False
    replicas: tuple[int, ...] | None = None

    @property
    def since(self) -> datetime:
        """Return the election, or the first line about it."""
        return self.first_logged if self.decided is None else self.decided


def is_of_another_cluster(before: int | None, after: int | None) -> bool:
    """Return whether a controller epoch is lower than one before it, which it never is in one cluster.

    Args:
        before: The controller epoch of the earlier line; None if it is not known.
        after: The controller epoch of the later line; None if it is not known.
    """
    return before is not None and after is not None and after < before


def led(after: Leadership) -> Instant:
    """Return when a leader led: after its election, and by its own line.

    Until the controller's request reaches it, it refuses writes; that others know of it proves nothing.
    """
    if after.led_at is not None and after.elected is not None and after.led_at <= after.elected + CLOCKS:
        # The broker's clock decides when clients could write; its line follows the election.
        return Fact(max(after.led_at, after.elected), (after.line,))
    return moment(after.elected, after.led_at, (after.line,), "no line of the leader shows when it led")


def leaderships(states: Sequence[State]) -> list[Leadership]:
    """Merge the states of one incarnation into its leaderships, in their order."""
    known = [each for each in states if each.leader >= NO_LEADER]
    merged: dict[tuple[object, ...], list[State]] = {}
    if any(each.leader_epoch is not None for each in known):
        for state in known:
            if state.leader_epoch is not None:
                merged.setdefault((state.leader_epoch, state.leader), []).append(state)
        _add_decisions(merged.values(), [each for each in known if each.leader_epoch is None])
    else:
        # Without epochs only the time separates one decision from the next.
        for state in known:
            merged.setdefault((state.first_logged, state.leader), []).append(state)
    found = [_merged([_leadership(state) for state in each]) for each in merged.values()]
    found.sort(key=lambda each: (each.epoch if each.epoch is not None else 0, each.since))
    return _without_late_elections(found)


def _without_late_elections(found: Sequence[Leadership]) -> list[Leadership]:
    """Forget the times of elections that were logged after a line about a later leader epoch.

    A controller that stood still logs its election when it goes on; when it was, no line shows.
    """
    kept: list[Leadership] = []
    next_at: datetime | None = None
    for each in reversed(found):
        is_late = next_at is not None and each.elected is not None and next_at < each.elected
        kept.append(each._replace(elected=None) if is_late else each)
        if each.epoch is not None:
            next_at = each.first_logged if next_at is None else min(next_at, each.first_logged)
    return kept[::-1]


def _add_decisions(merged: Iterable[list[State]], decisions: Sequence[State]) -> None:
    """Add decisions without an epoch (releases up to 1.0) to the states that were sent right after them."""
    by_time = sorted(merged, key=_first_logged)
    times = [_first_logged(states) for states in by_time]
    for decision in decisions:
        first = bisect_left(times, decision.first_logged)
        last = bisect_right(times, _SENT, key=lambda time: time - decision.first_logged)
        for states in by_time[first:last]:
            # An earlier decision may have been added.
            if states[0].leader == decision.leader and decision.first_logged <= _first_logged(states):
                epoch, controller = states[0].leader_epoch, states[0].controller_epoch
                states.append(decision._replace(leader_epoch=epoch, controller_epoch=controller))
                break


def _first_logged(states: Iterable[State]) -> datetime:
    return min(state.first_logged for state in states)


def _leadership(state: State) -> Leadership:
    """Return the leadership that one state shows."""
    return Leadership(
        leader=state.leader,
        epoch=state.leader_epoch,
        decided=state.decided,
        elected=state.decided if state.removed is None or state.was is not None else None,
        first_logged=state.first_logged,
        led_at=state.led_at,
        was_offline=state.was in _OFFLINE,
        removed=state.removed,
        isr=state.isr,
        version=state.version,
        last_version=state.version,
        controller_epoch=state.controller_epoch,
        line=state.line,
        was_online=state.was in _ONLINE,
        was_new=state.was in _NEW,
        replicas=state.replicas,
    )


def _merged(parts: Sequence[Leadership]) -> Leadership:
    """Put together what the states of one leadership show."""
    if len(parts) == 1:
        return parts[0]
    by_version = sorted(parts, key=lambda each: (each.version is None, each.version or 0, each.first_logged))
    best = min(parts, key=lambda each: (each.decided is None, each.first_logged))
    versions = [each.version for each in parts if each.version is not None]
    return best._replace(
        decided=min((each.decided for each in parts if each.decided is not None), default=None),
        elected=min((each.elected for each in parts if each.elected is not None), default=None),
        first_logged=min(each.first_logged for each in parts),
        led_at=min((each.led_at for each in parts if each.led_at is not None), default=None),
        was_offline=any(each.was_offline for each in parts),
        was_online=any(each.was_online for each in parts),
        was_new=any(each.was_new for each in parts),
        removed=next((each.removed for each in by_version if each.removed is not None), None),
        isr=by_version[0].isr,
        replicas=next((each.replicas for each in by_version if each.replicas is not None), None),
        version=min(versions, default=None),
        last_version=max(versions, default=None),
    )
