"""Leaders whose names no line shows, but only that a controller lost them."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

from barnabas.analysis.reading.events.broker_kinds import BrokerKind
from barnabas.analysis.story.absence import Absence
from barnabas.analysis.story.certainty import Fact, latest
from barnabas.analysis.story.observed import Observed
from barnabas.analysis.story.partitions import Outage

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

    def named(self, outage: Outage) -> Outage:
        """Return an outage with the leader before it, if that is the only broker that was lost then."""
        leader = self._leader_before(outage)
        return outage if leader == outage.leader_before else replace(outage, leader_before=leader)

    def _leader_before(self, outage: Outage) -> int | None:
        """Return the broker that led before an outage; None if it is not the only one that was lost then.

        A broker that is added may be the first that can lead a partition which has long been offline. What a
        broker says of a partition without a leader is from its controller.
        """
        time = latest(outage.begin)
        if outage.leader_before is not None or time is None or not outage.begin.lines:
            return outage.leader_before
        if outage.created is not None or outage.refusal is not None or outage.unseen is not None:
            return None
        writer = outage.begin.lines[0].broker
        if outage.is_late and len(self._noticed) == 1:
            writer = next(iter(self._noticed))
        known = self._noticed.get(writer, [])
        before = known[bisect_left(known, (time - _HANDLED, 0)) : bisect_right(known, time, key=_when)]
        if not before:
            return None
        last = before[-1][0]
        lost = {broker for when, broker in before if when >= last - _AT_ONCE}
        is_next = bisect_right(self._others, time) == bisect_left(self._others, last)
        return lost.pop() if len(lost) == 1 and is_next else None


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
