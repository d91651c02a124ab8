"""Conditions of sessions with ZooKeeper. Source: ``KafkaZkClient``, ``ZkUtils``, ``ClientCnxn``."""

from __future__ import annotations

from barnabas.analysis.conditions.condition import Alarm, Condition, Shown
from barnabas.analysis.reading.events.broker_kinds import BrokerKind

ZOOKEEPER = (
    Condition(
        key="registration-refused",
        headline="{broker} is not registered: its id is still held by another session or process.",
        means="The node below /brokers/ids is another session's, so the cluster does not see this process.",
        source="KAFKA-7165, cured in 2.2: after an expiry a broker registers again until it succeeds",
        advice="Stop a second process with this id; else restart the broker, and upgrade to 2.2 or later.",
        alarm=Alarm.NOW,
        kinds=(Shown(BrokerKind.REGISTRATION_REFUSED),),
    ),
    Condition(
        key="session-expired",
        headline="{broker} lost its session with ZooKeeper: the cluster took it for dead.",
        means="ZooKeeper ended the session, so its partitions moved and a controller lost its office.",
        source="KAFKA-3083; zookeeper.session.timeout.ms (6 s up to 2.4, then 18 s)",
        advice="Look for a pause of the process (GC, disk, VM) or of the network before this time.",
        alarm=Alarm.SOON,
        kinds=(Shown(BrokerKind.SESSION_EXPIRED),),
    ),
)
