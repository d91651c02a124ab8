from __future__ import annotations

import pytest
from prometheus_client import CollectorRegistry, generate_latest

from barnabas.cluster.model.ids import TopicPartition
from barnabas.cluster.runtime.log_metrics import LogMetrics, LogSize

ORDERS = LogSize(TopicPartition("orders", 3), 2, 10, 25, 4096)


def samples(page):
    return sorted(line for line in page.decode().splitlines() if not line.startswith("#"))


def test_each_log_has_kafkas_four_for_as_long_as_it_is_there():
    registry, logs = CollectorRegistry(), [ORDERS]
    registry.register(LogMetrics(lambda: logs))
    where = '{partition="3",topic="orders"}'
    assert samples(generate_latest(registry)) == [
        f"kafka_log_Log_LogEndOffset{where} 25.0",
        f"kafka_log_Log_LogStartOffset{where} 10.0",
        f"kafka_log_Log_NumLogSegments{where} 2.0",
        f"kafka_log_Log_Size{where} 4096.0",
    ]
    logs.clear()
    assert samples(generate_latest(registry)) == []


def test_who_asks_for_another_metric_has_no_log_read():
    registry = CollectorRegistry()
    registry.register(LogMetrics(lambda: pytest.fail("the logs were read")))
    assert samples(generate_latest(registry.restricted_registry(["some_gauge"]))) == []
