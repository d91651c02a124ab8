"""The metrics under the names that ready dashboards for Kafka ask for.

Those dashboards (Strimzi's, and most on grafana.com) follow the example configuration of Prometheus'
``jmx_exporter`` for Kafka: names in lower case, counters without ``PerSec``, shares with ``_percent``, and
times as summaries with quantiles. The metrics page serves them as ``/metrics/jmx``.
"""

from __future__ import annotations

import math
import re
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample

QUANTILES = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)
"""The quantiles of a time in Kafka's metrics."""

DECAY_PER_SECOND = 0.015
"""The factor by which the weight of a value shrinks (Kafka: the biased histograms of Yammer's metrics).

A value that is a minute old counts 0.4 times, one of five minutes 0.01 times.
"""

_SUFFIXES = ("_total", "_count", "_sum")


def dashboard_name(name: str) -> str:
    """Return a metric's name as dashboards have it.

    >>> dashboard_name("kafka_server_BrokerTopicMetrics_BytesInPerSec_total")
    'kafka_server_brokertopicmetrics_bytesin_total'
    """
    if not name.startswith("kafka_"):
        return name
    return re.sub("percent$", "_percent", name.lower().replace("persec", ""))


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


class RecentCounts:
    """The counts of a histogram's buckets, in which old values weigh less. Pure: times are arguments.

    Values count as new when they are first seen, so the time between two looks is the error of their age.
    Without new values nothing changes, as in Kafka.
    """

    def __init__(self) -> None:
        self._seen: Sequence[float] = ()
        self._seen_at_s = 0.0
        self._weights: list[float] = []

    def look(self, counts: Sequence[float], now_s: float) -> list[float]:
        """Return the weights of the buckets.

        Args:
            counts: The counts since the start; the values are all new if these are smaller than before.
            now_s: The time.
        """
        if len(counts) != len(self._seen) or any(a < b for a, b in zip(counts, self._seen, strict=True)):
            self._seen, self._weights = [0.0] * len(counts), [0.0] * len(counts)
        if counts != self._seen:
            kept = math.exp(-DECAY_PER_SECOND * (now_s - self._seen_at_s))
            new = [a - b for a, b in zip(counts, self._seen, strict=True)]
            self._weights = [kept * was + more for was, more in zip(self._weights, new, strict=True)]
            self._seen, self._seen_at_s = list(counts), now_s
        return self._weights


_Labels = tuple[tuple[str, str], ...]


class DashboardNames(Collector):
    """A view of a registry under the names of dashboards.

    Args:
        registry: The metrics under Kafka's names.
        clock: Returns seconds.
    """

    def __init__(self, registry: CollectorRegistry, clock: Callable[[], float] = time.monotonic) -> None:
        self._registry = registry
        self._clock = clock
        self._recent: dict[tuple[str, _Labels], RecentCounts] = {}
        self._lock = threading.Lock()

    def collect(self) -> Iterable[Metric]:
        """Return the metrics with current values; several threads may do so at a time."""
        with self._lock:
            families = list(self._registry.collect())
            recent, self._recent = self._recent, {}
            return [
                self._summary(family, recent) if family.type == "histogram" else _renamed(family)
                for family in families
            ]

    def _summary(self, family: Metric, recent: dict[tuple[str, _Labels], RecentCounts]) -> Metric:
        name, now_s = dashboard_name(family.name), self._clock()
        metric = Metric(name, family.documentation, "summary")
        buckets: dict[_Labels, list[tuple[float, float]]] = {}
        for sample in family.samples:
            if sample.name.endswith("_bucket"):
                labels = dict(sample.labels)
                bound = float(labels.pop("le"))
                buckets.setdefault(tuple(labels.items()), []).append((bound, sample.value))
            elif sample.name.endswith(_SUFFIXES):
                metric.samples.append(sample._replace(name=dashboard_name(sample.name)))
        for labelled, counts in buckets.items():
            key = (name, labelled)
            # Label sets that are gone, as of deleted topics, are not kept.
            self._recent[key] = recent.get(key) or RecentCounts()
            weights = self._recent[key].look([count for _, count in counts], now_s)
            weighed = [(bound, weight) for (bound, _), weight in zip(counts, weights, strict=True)]
            metric.samples += [
                Sample(name, {**dict(labelled), "quantile": f"{share:g}"}, quantile(weighed, share))
                for share in QUANTILES
            ]
        return metric


def _renamed(family: Metric) -> Metric:
    metric = Metric(dashboard_name(family.name), family.documentation, family.type)
    metric.samples = [sample._replace(name=dashboard_name(sample.name)) for sample in family.samples]
    return metric
