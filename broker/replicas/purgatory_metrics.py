"""A purgatory's sizes as metrics, under Kafka's names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from barnabas.broker.core.purgatory import DelayedOperationPurgatory
from barnabas.cluster.runtime.metrics import Metrics

K = TypeVar("K", bound=Hashable)


def show_purgatory(metrics: Metrics, purgatory: DelayedOperationPurgatory[K]) -> None:
    """Export ``PurgatorySize`` and ``NumDelayedOperations`` of ``purgatory`` to ``metrics``."""
    name = purgatory.name
    metrics.watch(metrics.purgatory_size, lambda: purgatory.watched, delayedOperation=name)
    metrics.watch(metrics.delayed_operations, lambda: purgatory.delayed, delayedOperation=name)
