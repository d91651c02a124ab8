"""The metrics under the names that ready dashboards for Kafka ask for.

Those dashboards (Strimzi's, and most on grafana.com) follow the example configuration of Prometheus'
``jmx_exporter`` for Kafka: names in lower case, counters without ``PerSec``, and times as summaries with
quantiles. The metrics page serves them as ``/metrics/jmx``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""The quantiles of a time in Kafka's metrics."""

_SUFFIXES = ("_total", "_count", "_sum")


def dashboard_name(name: str) -> str:
    """Return a metric's name as dashboards have it.

    >>> dashboard_name("kafka_server_BrokerTopicMetrics_BytesInPerSec_total")
    'kafka_server_brokertopicmetrics_bytesin_total'
    """
    if not name.startswith("kafka_"):
        return name
    return name.lower().replace("persec", "")


def quantile(buckets: Sequence[tuple[float, float]], share: float) -> float:
    """Estimate a quantile from cumulative buckets, as Prometheus' ``histogram_quantile`` does.

    Args:
        buckets: The upper bound and the count of values up to it, in ascending order; the last bound is
            infinite.
        share: The quantile, from 0 to 1.

    Returns:
        The value, by linear interpolation within its bucket; the largest finite bound beyond that; 0 if
        nothing was counted.
    """
    rank = share * buckets[-1][1]
    if not rank:
        return 0.0
    for (low, below), (high, upto) in pairwise([(0.0, 0.0), *buckets[:-1]]):
        if upto >= rank:
            return low + (high - low) * (rank - below) / (upto - below)
    return buckets[-2][0]


class DashboardNames(Collector):
    """A view of a registry under the names of dashboards.

    Args:
        registry: The metrics under Kafka's names.
    """

    def __init__(self, registry: CollectorRegistry) -> None:
        self._registry = registry

    def collect(self) -> Iterable[Metric]:
        """Return the metrics with current values."""
        for family in self._registry.collect():
            yield _summary(family) if family.type == "histogram" else _renamed(family)


def _renamed(family: Metric) -> Metric:
    metric = Metric(dashboard_name(family.name), family.documentation, family.type)
    metric.samples = [sample._replace(name=dashboard_name(sample.name)) for sample in family.samples]
    return metric


def _summary(family: Metric) -> Metric:
    name = dashboard_name(family.name)
    metric = Metric(name, family.documentation, "summary")
    buckets: dict[tuple[tuple[str, str], ...], list[tuple[float, float]]] = {}
    for sample in family.samples:
        if sample.name.endswith("_bucket"):
            labels = dict(sample.labels)
            bound = float(labels.pop("le"))
            buckets.setdefault(tuple(labels.items()), []).append((bound, sample.value))
        elif sample.name.endswith(_SUFFIXES):
            metric.samples.append(sample._replace(name=dashboard_name(sample.name)))
    for labelled, counts in buckets.items():
        metric.samples += [
            Sample(name, {**dict(labelled), "quantile": f"{share:g}"}, quantile(counts, share))
            for share in QUANTILES
        ]
    return metric
