"""Leaders whose names no line shows, but only that a controller lost them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Fact, latest
from barnabas.analysis.story.charges import Charging
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import Life, Outage
from barnabas.analysis.story.rows import Mark

_HANDLED = timedelta(seconds=10)
"""The longest time in which a controller handles the loss of a broker."""

_AT_ONCE = timedelta(seconds=1)
"""Losses that a controller notices this close together may be handled as one."""


class UnnamedLeaders:
    """The losses that controllers handled when they took partitions offline.

    A controller of ZooKeeper mode handles one event after the other, and takes a partition offline if its
    leader is lost, or that one's log directory. Where logs begin late, no line shows who that was.
    Source: ``KafkaController.onBrokerFailure`` and ``onReplicasBecomeOffline``.

    Args:
        found: The absences.
        observed: Everything in the lines.
    """

    def __init__(self, found: Sequence[Absence], observed: Observed) -> None:
        noticed: dict[int | None, list[tuple[datetime, int]]] = {}
        for each in () if observed.is_kraft else found:
            if isinstance(each.noticed, Fact):
                writer = each.noticed.lines[0].broker
                noticed.setdefault(writer, []).append((each.noticed.value, each.broker))
        self._noticed = {writer: sorted(losses) for writer, losses in noticed.items()}
        changed = (
            line for line in observed.of_kind(BrokerKind.BROKERS_CHANGED) if line.added or line.bounced
        )
        failed = observed.of_kind(BrokerKind.DIRECTORY_FAILED)
        self._others = sorted(line.time for lines in (changed, failed) for line in lines)
        self._offline: dict[Life, list[Mark]] = {}
        for mark in observed.marks if self._noticed else ():
            if mark.reason is None:
                self._offline.setdefault((mark.topic, mark.partition, mark.life), []).append(mark)
        for marks in self._offline.values():
            marks.sort(key=_time)

    def named(self, outage: Outage) -> Outage:
        """Return an outage with the leader before it, or the brokers of which one was, as far as known."""
        lost = self._lost(outage)
        if len(lost) == 1:
            return replace(outage, leader_before=lost[0])
        return replace(outage, among=lost) if lost else outage

    def _lost(self, outage: Outage) -> tuple[int, ...]:
        """Return the brokers that were lost just before an outage without a known leader before it.

        A broker that is added may be the first that can lead a partition which has long been offline. What a
        broker says of a partition without a leader is from its controller.
        """
        if outage.leader_before is not None or outage.created is not None or outage.refusal is not None:
            return ()
        time, writer = self._taken(outage)
        if time is None:
            return ()
        known = self._noticed.get(writer, [])
        before = known[bisect_left(known, (time - _HANDLED, 0)) : bisect_right(known, time, key=_when)]
        if not before:
            return ()
        last = before[-1][0]
        lost = {broker for when, broker in before if when >= last - _AT_ONCE}
        is_next = bisect_right(self._others, time) == bisect_left(self._others, last)
        return tuple(sorted(lost)) if is_next else ()

    def _taken(self, outage: Outage) -> tuple[datetime | None, int | None]:
        """Return when a controller took a partition offline, at the latest, and which one did.

        Where changes of the leader are missing, only the controller's own line shows that.
        """
        time = latest(outage.begin)
        if time is None or not outage.begin.lines:
            return None, None
        if outage.is_after_gap:
            lines = self._offline.get(outage.life, [])
            since = outage.unseen
            own = [line for line in lines if (since is None or since < line.time) and line.time <= time]
            return (own[-1].time, own[-1].line.broker) if own else (None, None)
        if outage.is_late and len(self._noticed) == 1:
            return time, next(iter(self._noticed))
        return time, outage.begin.lines[0].broker


def _time(mark: Mark) -> datetime:
    return mark.time


def _when(loss: tuple[datetime, int]) -> datetime:
    return loss[0]


def as_named(refined: Outage, shown: Outage) -> Outage:
    """Let an outage of which only the loss names the leader begin as the lines about the partition show it.

    It may have been without a leader before the loss, too.

    Args:
        refined: The outage, bounded by the absence of its leader.
        shown: The outage as the lines about the partition show it.
    """
    is_unnamed = shown.leader_before is None and refined.leader_before is not None
    return replace(refined, begin=shown.begin) if is_unnamed else refined


def with_lost_together(
    found: Sequence[Absence], groups: Sequence[Sequence[int]], charged: Mapping[int, Sequence[Outage]],
    free: Iterable[Outage],
) -> tuple[dict[int, list[Outage]], list[Outage]]:  # fmt: skip
    """Charge outages because one of several brokers was lost, where one incident is about all of these.

    Args:
        found: The absences.
        groups: Their indexes by incident.
        charged: The outages by the index of the absence because of which they were.
        free: The others.
    """
    charging = Charging(found)
    group_of: dict[int | None, Sequence[int]] = {index: group for group in groups for index in group}
    own = {index: list(outages) for index, outages in charged.items()}
    left: list[Outage] = []
    for outage in free:
        indexes = {charging.charged_to(replace(outage, leader_before=broker)) for broker in outage.among}
        group = group_of.get(next(iter(indexes), None), ())
        if indexes and indexes <= set(group):
            own.setdefault(group[0], []).append(outage)
        else:
            left.append(outage)
    return own, left
