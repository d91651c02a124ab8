from __future__ import annotations

from prometheus_client import generate_latest

from barnabas.broker.core.purgatory import DelayedOperation, DelayedOperationPurgatory
from barnabas.broker.replicas.purgatory_metrics import show_purgatory
from barnabas.broker.replicas.system_timer import SystemTimer
from barnabas.cluster.runtime.metrics import Metrics

PREFIX = "kafka_server_DelayedOperationPurgatory_"


class Patient(DelayedOperation):
    """Waits for its time."""

    def is_satisfied(self):
        return False

    def on_complete(self):
        pass

    def on_expiration(self):
        pass


async def test_an_operation_counts_once_per_key_and_once():
    metrics, purgatory = Metrics(), DelayedOperationPurgatory("topic", SystemTimer())
    show_purgatory(metrics, purgatory)
    operation = Patient()
    purgatory.try_complete_else_watch(operation, ("a", "b"), 60_000)
    page = generate_latest(metrics.registry).decode()
    assert f'{PREFIX}PurgatorySize{{delayedOperation="topic"}} 2.0' in page
    assert f'{PREFIX}NumDelayedOperations{{delayedOperation="topic"}} 1.0' in page
    operation.force_complete()
    page = generate_latest(metrics.registry).decode()
    assert f'{PREFIX}PurgatorySize{{delayedOperation="topic"}} 2.0' in page
    assert f'{PREFIX}NumDelayedOperations{{delayedOperation="topic"}} 0.0' in page
