"""Conditions of the controller. Source: ``KafkaController.scala``, ``PartitionLeaderSelector.scala``."""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown
from barnabas.analysis.reading.events.kinds import OtherKind

CONTROLLER = (
    Condition(
        key="shutdown-cannot-move",
        headline="A controlled shutdown cannot move {partitions}: no other replica in sync is alive.",
        means="Only the stopping broker can lead the partition, so it goes offline when the broker ends.",
        source="KIP-3; ControlledShutdownLeaderSelector",
        advice="Start the other replicas' brokers, and wait until they are in sync before the stop.",
        alarm=Alarm.NOW,
        kinds=(Shown(OtherKind.ELECTION_FAILED, ("besides shutting down brokers",)),),
    ),
)
