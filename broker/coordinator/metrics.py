"""The coordinator's gauges on the metrics page, under Kafka's names (``GroupMetadataManager`` of 2.8)."""

from __future__ import annotations

from functools import partial

from barnabas.broker.coordinator.coordinated import CoordinatedPartitions
from barnabas.broker.core.group.effects import TimerKind
from barnabas.cluster.runtime.metrics import Metrics

PURGATORIES = {
    "Heartbeat": frozenset((TimerKind.SESSION, TimerKind.PENDING_MEMBER)),
    "Rebalance": frozenset((TimerKind.JOIN, TimerKind.SYNC)),
}
"""The purgatories of Kafka's ``GroupCoordinator``, and the timers that stand for their operations."""


def show_groups(metrics: Metrics, partitions: CoordinatedPartitions) -> None:
    """Make ``metrics`` show the numbers of groups, by state too, of their offsets, and of what they wait for.

    Sessions and join rounds are timers here and delayed operations of two purgatories in Kafka. A timer that
    has ended is gone at once, so ``PurgatorySize`` and ``NumDelayedOperations`` are equal.

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

    def waiting(kinds: frozenset[TimerKind]) -> int:
        return sum(
            key.kind in kinds for partition in tuple(partitions.all) for key in tuple(partition.timers)
        )

    for name, kinds in PURGATORIES.items():
        for gauge in (metrics.purgatory_size, metrics.delayed_operations):
            metrics.watch(gauge, partial(waiting, kinds), delayedOperation=name)
    metrics.watch(metrics.offset_count, offsets)
    metrics.watch(metrics.group_count, groups)
    for state, gauge in metrics.groups_in_state.items():
        metrics.watch(gauge, partial(in_state, state))
