"""The request metrics by API: counts, times and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import Counter, Histogram

from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.runtime.metrics import Metrics


@dataclass(frozen=True, slots=True)
class _Series:
    """The metrics of one API, looked up once."""

    requests: Counter
    time_ms: Histogram
    request_bytes: Counter
    response_bytes: Counter


class RequestMeter:
    """The metrics ``kafka.network:type=RequestMetrics`` of one broker.

    Args:
        metrics: The metrics of this broker.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self._series: dict[int, _Series] = {}

    def answered(self, api_key: int, seconds: float, request_bytes: int, response_bytes: int) -> None:
        """Count an answered request, with its duration in seconds."""
        series = self._series.get(api_key)
        if series is None:
            series = self._series[api_key] = self._of(_kafka_name(api_key))
        series.requests.inc()
        series.time_ms.observe(seconds * 1000)
        series.request_bytes.inc(request_bytes)
        series.response_bytes.inc(response_bytes)

    def _of(self, name: str) -> _Series:
        metrics = self._metrics
        return _Series(
            metrics.requests.labels(request=name),
            metrics.request_time_ms.labels(request=name),
            metrics.request_bytes.labels(request=name),
            metrics.response_bytes.labels(request=name),
        )


def _kafka_name(api_key: int) -> str:
    """Return the API's name in Kafka's metrics: ``Produce``, ``InitProducerId``."""
    return "".join(word.capitalize() for word in ApiKey(api_key).name.split("_"))
