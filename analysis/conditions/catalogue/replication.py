"""Conditions of leaders, followers and ISRs. Source: ``Partition.scala``, ``AbstractFetcherThread.scala``."""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown
from barnabas.analysis.reading.events.kinds import CompanionKind

REPLICATION = (
    Condition(
        key="stale-leader",
        headline="{broker} acts as leader of {partitions} with a stale version: its ISR changes are refused.",
        means="The state in ZooKeeper is newer than the broker's, so the cluster may follow another leader.",
        source="KAFKA-2729, cured in 1.1; Partition.updateIsr",
        advice="Restart the broker, and upgrade to 1.1 or later; writes with acks=1 may be lost.",
        alarm=Alarm.NOW,
        kinds=(Shown(CompanionKind.ISR_NOT_UPDATED),),
    ),
)
