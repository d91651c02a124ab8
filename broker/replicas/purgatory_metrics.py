"""A purgatory's sizes on the metrics page, under Kafka's names."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TypeVar

from barnabas.broker.core.purgatory import DelayedOperationPurgatory
from barnabas.cluster.runtime.metrics import Metrics

K = TypeVar("K", bound=Hashable)


def show_purgatory(metrics: Metrics, purgatory: DelayedOperationPurgatory[K]) -> None:
    """Have ``metrics`` show ``PurgatorySize`` and ``NumDelayedOperations`` of ``purgatory``."""
    name = purgatory.name
    metrics.watch(metrics.purgatory_size, lambda: purgatory.watched, delayedOperation=name)
    metrics.watch(metrics.delayed_operations, lambda: purgatory.delayed, delayedOperation=name)
