"""The coordinator's gauges on the metrics page, under Kafka's names (``GroupMetadataManager`` of 2.8)."""

from __future__ import annotations

from functools import partial

from barnabas.broker.coordinator.coordinated import CoordinatedPartitions
from barnabas.cluster.runtime.metrics import Metrics


def show_groups(metrics: Metrics, partitions: CoordinatedPartitions) -> None:
    """Make ``metrics`` show the numbers of groups, by state too, and of their offsets.

    The page asks on a thread of its own: each collection is copied before it is counted.
    """

    def offsets() -> int:
        return sum(
            len(group) for partition in tuple(partitions.all) for group in tuple(partition.offsets.values())
        )

    def groups() -> int:
        return sum(len(partition.groups.by_id) for partition in tuple(partitions.all))

    def in_state(state: str) -> int:
        return sum(
            group.state == state
            for partition in tuple(partitions.all)
            for group in tuple(partition.groups.by_id.values())
        )

    metrics.watch(metrics.offset_count, offsets)
    metrics.watch(metrics.group_count, groups)
    for state, gauge in metrics.groups_in_state.items():
        metrics.watch(gauge, partial(in_state, state))
