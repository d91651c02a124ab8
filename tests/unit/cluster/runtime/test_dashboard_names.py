import json
import re
from pathlib import Path

import pytest
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

from barnabas.cluster.runtime.dashboard_names import DashboardNames, dashboard_name, quantile
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
