import json
import math
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from barnabas.cluster.runtime.dashboard_names import (
    DECAY_PER_SECOND,
    DashboardNames,
    RecentCounts,
    dashboard_name,
    quantile,
)
from barnabas.cluster.runtime.metrics import Metrics

INFINITE = float("inf")

DASHBOARD = Path(__file__).parents[4] / "monitoring" / "dashboards" / "barnabas.json"
METRIC = re.compile(r"\b(?:kafka|barnabas)_\w+")


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [
        (
            "kafka_server_BrokerTopicMetrics_MessagesInPerSec_total",
            "kafka_server_brokertopicmetrics_messagesin_total",
        ),
        (
            "kafka_server_ReplicaManager_UnderReplicatedPartitions",
            "kafka_server_replicamanager_underreplicatedpartitions",
        ),
        (
            "kafka_server_KafkaRequestHandlerPool_RequestHandlerAvgIdlePercent",
            "kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent",
        ),
        (
            "kafka_network_SocketServer_NetworkProcessorAvgIdlePercent",
            "kafka_network_socketserver_networkprocessoravgidle_percent",
        ),
        ("process_resident_memory_bytes", "process_resident_memory_bytes"),
        ("barnabas_live_brokers", "barnabas_live_brokers"),
    ],
)
def test_names_are_those_of_the_example_of_jmx_exporter(ours, theirs):
    assert dashboard_name(ours) == theirs


@pytest.mark.parametrize(
    ("share", "value"),
    [(0.25, 5.0), (0.5, 10.0), (0.75, 15.0), (0.9, 18.0), (1.0, 20.0)],
)
def test_a_quantile_lies_within_its_bucket(share, value):
    assert quantile([(10.0, 5), (20.0, 10), (INFINITE, 10)], share) == pytest.approx(value)


def test_a_quantile_beyond_the_last_bound_is_that_bound():
    assert quantile([(10.0, 5), (INFINITE, 10)], 0.99) == 10.0


def test_of_nothing_all_quantiles_are_zero():
    assert quantile([(10.0, 0), (INFINITE, 0)], 0.99) == 0.0


def test_counters_gauges_and_times_keep_labels_and_values():
    registry, renamed = CollectorRegistry(), CollectorRegistry()
    Counter("kafka_a_B_CPerSec", "c", ["topic"], registry=registry).labels(topic="T").inc(2)
    Gauge("kafka_a_B_Count", "g", registry=registry).set(7)
    time = Histogram("kafka_a_B_TimeMs", "t", ["request"], buckets=(1, 10), registry=registry)
    time.labels(request="Fetch").observe(10)
    renamed.register(DashboardNames(registry))
    page = generate_latest(renamed).decode()
    assert 'kafka_a_b_c_total{topic="T"} 2.0\n' in page
    assert "kafka_a_b_count 7.0\n" in page
    assert 'kafka_a_b_timems{quantile="0.99",request="Fetch"}' in page
    assert 'kafka_a_b_timems_count{request="Fetch"} 1.0\n' in page
    assert 'kafka_a_b_timems_sum{request="Fetch"} 10.0\n' in page
    assert "bucket" not in page


def test_the_dashboard_asks_for_metrics_that_there_are():
    renamed = CollectorRegistry()
    renamed.register(DashboardNames(Metrics().registry))
    metrics = {metric.name: metric.type for metric in renamed.collect()}
    panels = json.loads(DASHBOARD.read_text())["panels"]
    asked = {name for panel in panels for each in panel["targets"] for name in METRIC.findall(each["expr"])}
    assert len(asked) > 20
    for name in asked:
        counter = name.endswith("_total")
        assert (metrics.get(name.removesuffix("_total")) == "counter") is counter, name
        assert counter or name in metrics, name


def test_recent_counts_weigh_old_values_less():
    recent, minute = RecentCounts(), math.exp(-60 * DECAY_PER_SECOND)
    assert recent.look([10, 10], 0.0) == [10, 10]
    assert recent.look([10, 14], 60.0) == pytest.approx([10 * minute, 10 * minute + 4])


def test_recent_counts_stay_as_long_as_there_is_no_new_value():
    recent = RecentCounts()
    recent.look([1, 2], 0.0)
    assert recent.look([1, 2], 1e9) == [1, 2]
    assert recent.look([1, 3], 2e9) == [0, 1]


def test_recent_counts_that_shrink_belong_to_a_new_histogram():
    recent = RecentCounts()
    recent.look([5, 5], 0.0)
    assert recent.look([1, 2], 1.0) == [1, 2]


def test_quantiles_are_those_of_recent_values():
    now = 0.0
    registry, renamed = CollectorRegistry(), CollectorRegistry()
    time = Histogram("kafka_a_B_TimeMs", "t", buckets=(1, 100, 200), registry=registry)
    renamed.register(DashboardNames(registry, lambda: now))

    def median():
        return renamed.get_sample_value("kafka_a_b_timems", {"quantile": "0.5"})

    for _ in range(1000):
        time.observe(150)
    assert median() > 100
    now = 600.0
    for _ in range(100):
        time.observe(0.5)
    assert median() < 1  # most values since the start are 150
    assert renamed.get_sample_value("kafka_a_b_timems_count") == 1100
