"""The controller's gauges, computed from the context (``updateMetrics`` of ``KafkaController``).

Two dictionaries of the context track their changed keys. So the cost of an update depends on what has changed
since the last event, not on the size of the cluster.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from barnabas.cluster.model.ids import TopicPartition
from barnabas.controller.core.context.controller_context import ControllerContext
from barnabas.controller.core.context.machines import PartitionMachineState, ReplicaMachineState
from barnabas.controller.core.protocol.inputs import ControllerState

_RENAMED = {"BROKER_CHANGE": "LeaderElection", "ALTER_PARTITION_REASSIGNMENT": "PartitionReassignment"}
"""The two metric names that differ from the state's name; they are older than the states."""


def rate_and_time(state: ControllerState) -> str:
    """Return the name in ``TIMED_EVENTS`` under which the time in ``state`` is counted.

    Source: Kafka's ``ControllerState.rateAndTimeMetricName``, which leaves out Idle and
    UpdateMetadataResponseReceived.
    """
    return _RENAMED.get(state.name, "".join(word.capitalize() for word in state.name.split("_")))


@dataclass(frozen=True, slots=True)
class Measures:
    """The gauges at one time; all 0 on a broker that is not the controller.

    Attributes:
        active_controller_count: 1 on the active controller.
        offline_partitions_count: Partitions in the state OfflinePartition, of topics that are not being
            deleted.
        preferred_replica_imbalance_count: Partitions led by another than their preferred replica, of topics
            that are not being deleted.
        global_topic_count: Topics.
        global_partition_count: Partitions.
        topics_to_delete_count: Topics queued for deletion.
        replicas_to_delete_count: Their replicas that are not deleted yet.
        topics_ineligible_to_delete_count: The queued topics whose deletion must wait.
        replicas_ineligible_to_delete_count: Their replicas that cannot be deleted now.
    """

    active_controller_count: int = 0
    offline_partitions_count: int = 0
    preferred_replica_imbalance_count: int = 0
    global_topic_count: int = 0
    global_partition_count: int = 0
    topics_to_delete_count: int = 0
    replicas_to_delete_count: int = 0
    topics_ineligible_to_delete_count: int = 0
    replicas_ineligible_to_delete_count: int = 0


class ControllerGauges:
    """The counts behind the gauges, updated incrementally: nothing is recounted per event."""

    def __init__(self) -> None:
        self._offline: set[TopicPartition] = set()
        self._imbalanced: set[TopicPartition] = set()
        self._deleting: frozenset[str] = frozenset()

    def _recount(self, context: ControllerContext) -> None:
        """Count the partitions again whose keys the context has tracked as changed."""
        changed = context.leaderships.take_changed() | context.partition_states.take_changed()
        deleting = frozenset(context.topics_to_delete)
        for topic in deleting ^ self._deleting:
            changed.update(TopicPartition(topic, number) for number in context.assignments.get(topic, ()))
        self._deleting = deleting
        counted = [tp for tp in changed if not deleting or tp.topic not in deleting]
        self._offline.difference_update(changed)
        self._offline.update(_offline(context, counted))
        self._imbalanced.difference_update(changed)
        self._imbalanced.update(_imbalanced(context, counted))

    def measure(self, context: ControllerContext) -> Measures:
        """Update the counts after an event, and return the gauges."""
        self._recount(context)
        if not context.is_active:
            return Measures()
        to_delete, ineligible = _count_deletions(context)
        return Measures(
            active_controller_count=1,
            offline_partitions_count=len(self._offline),
            preferred_replica_imbalance_count=len(self._imbalanced),
            global_topic_count=len(context.assignments),
            global_partition_count=sum(map(len, context.assignments.values())),
            topics_to_delete_count=len(context.topics_to_delete),
            replicas_to_delete_count=to_delete,
            topics_ineligible_to_delete_count=len(context.topics_ineligible_for_deletion),
            replicas_ineligible_to_delete_count=ineligible,
        )


def _offline(context: ControllerContext, tps: Iterable[TopicPartition]) -> Iterator[TopicPartition]:
    states = context.partition_states
    return (tp for tp in tps if states.get(tp) is PartitionMachineState.OFFLINE)


def _imbalanced(context: ControllerContext, tps: Sequence[TopicPartition]) -> Iterator[TopicPartition]:
    for tp, assignment in zip(tps, context.assigned(tps), strict=True):
        known, replicas = context.leaderships.get(tp), assignment.replicas
        if known is not None and replicas and known.leader_and_isr.leader != replicas[0]:
            yield tp


def _count_deletions(context: ControllerContext) -> tuple[int, int]:
    """Count the replicas of topics to be deleted: those not deleted yet, and those that cannot be now."""
    to_delete = ineligible = 0
    for topic in context.topics_to_delete:
        partitions = [TopicPartition(topic, number) for number in context.assignments.get(topic, ())]
        for replica in context.replicas(partitions):
            state = context.replica_states.get(replica)
            to_delete += state is not ReplicaMachineState.DELETION_SUCCESSFUL
            ineligible += state is ReplicaMachineState.DELETION_INELIGIBLE
    return to_delete, ineligible
