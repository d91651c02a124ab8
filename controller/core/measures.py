"""What the controller counts, from what it knows. Source: Kafka's ``KafkaController`` gauges; sheet 2.2."""

from __future__ import annotations

from dataclasses import dataclass

from controller.core.machines import PartitionMachineState
from controller.core.state import ControllerContext


@dataclass(frozen=True, slots=True)
class Measures:
    """The gauges of one moment; all 0 on a broker that is not the controller.

    Attributes:
        active_controller_count: 1 on the active controller.
        offline_partitions_count: Partitions without a live leader, of topics that are not being deleted.
        preferred_replica_imbalance_count: Partitions led by another than their preferred replica.
        global_topic_count: Topics.
        global_partition_count: Partitions.
    """

    active_controller_count: int = 0
    offline_partitions_count: int = 0
    preferred_replica_imbalance_count: int = 0
    global_topic_count: int = 0
    global_partition_count: int = 0


def measure(context: ControllerContext) -> Measures:
    """Count."""
    if not context.is_active:
        return Measures()
    offline = imbalanced = partitions = 0
    for tp in context.partitions():
        partitions += 1
        if context.is_being_deleted(tp.topic):
            continue
        known = context.leaderships.get(tp)
        state = context.partition_states.get(tp)
        offline += state is PartitionMachineState.OFFLINE or known is None or context.is_leader_offline(tp)
        imbalanced += known is not None and known.leader_and_isr.leader != context.assignment(tp).replicas[0]
    return Measures(1, offline, imbalanced, len(context.assignments), partitions)
