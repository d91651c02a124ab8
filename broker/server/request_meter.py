"""The request metrics by API: counts, times and bytes."""

from __future__ import annotations

from dataclasses import dataclass

from prometheus_client import Counter, Histogram

from barnabas.broker.server.connection_meter import ConnectionMeter
from barnabas.broker.wire.apis import ApiKey
from barnabas.cluster.model.errors import ErrorCode
from barnabas.cluster.runtime.metrics import Metrics

_EXPECTED_OF_FETCH = frozenset(
    (
        ErrorCode.NONE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_LEADER_EPOCH,
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.OFFSET_OUT_OF_RANGE,
    )
)
"""The errors that do not count as a failed fetch (``ReplicaManager.readFromLocalLog``)."""


@dataclass(slots=True)
class RequestTimes:
    """The times at which a request passed its stages, s of ``time.monotonic`` (``RequestChannel.Request``).

    Attributes:
        arrived: Its last bytes were received.
        began: Its handling began.
        handled: Its handling began to wait, for other brokers, records or ZooKeeper; 0 if it never did.
        answered: Its answer was encoded.
        sending: The answers before its own were passed to the socket, and so was this one.
    """

    arrived: float
    began: float
    handled: float = 0.0
    answered: float = 0.0
    sending: float = 0.0


@dataclass(frozen=True, slots=True)
class _Series:
    """The metrics of one API, looked up once."""

    requests: Counter
    total_ms: Histogram
    queue_ms: Histogram
    local_ms: Histogram
    remote_ms: Histogram
    response_queue_ms: Histogram
    response_send_ms: Histogram
    request_bytes: Counter
    response_bytes: Counter


class RequestMeter:
    """The metrics ``kafka.network:type=RequestMetrics`` of one broker.

    Args:
        metrics: The metrics of this broker.

    Attributes:
        connections: The metrics of connections.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics
        self.connections = ConnectionMeter(metrics)
        self._series: dict[int, _Series] = {}

    def sent(self, api_key: int, times: RequestTimes, sent: float) -> None:
        """Count the times of a request whose answer the socket took at ``sent``."""
        series = self._series_of(api_key)
        handled = times.handled or times.answered
        series.queue_ms.observe((times.began - times.arrived) * 1000)
        series.local_ms.observe((handled - times.began) * 1000)
        series.remote_ms.observe((times.answered - handled) * 1000)
        series.response_queue_ms.observe((times.sending - times.answered) * 1000)
        series.response_send_ms.observe((sent - times.sending) * 1000)
        series.total_ms.observe((sent - times.arrived) * 1000)

    def answered(self, api_key: int, request_bytes: int, response_bytes: int) -> None:
        """Count an answered request."""
        series = self._series_of(api_key)
        series.requests.inc()
        series.request_bytes.inc(request_bytes)
        series.response_bytes.inc(response_bytes)

    def _series_of(self, api_key: int) -> _Series:
        series = self._series.get(api_key)
        if series is None:
            series = self._series[api_key] = self._of(_kafka_name(api_key))
        return series

    def fetched(self, topic: str, size: int, error: ErrorCode) -> None:
        """Count a partition in the answer to a client's Fetch, with the bytes of its records.

        As in Kafka, unknown partitions are not counted: clients could fill the memory with invented names.
        """
        if error is not ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            self._metrics.traffic.fetched(topic, size, failed=error not in _EXPECTED_OF_FETCH)

    def _of(self, name: str) -> _Series:
        metrics = self._metrics
        return _Series(
            metrics.requests.labels(request=name),
            metrics.request_time_ms.labels(request=name),
            metrics.request_queue_time_ms.labels(request=name),
            metrics.request_local_time_ms.labels(request=name),
            metrics.request_remote_time_ms.labels(request=name),
            metrics.response_queue_time_ms.labels(request=name),
            metrics.response_send_time_ms.labels(request=name),
            metrics.request_bytes.labels(request=name),
            metrics.response_bytes.labels(request=name),
        )


def _kafka_name(api_key: int) -> str:
    """Return the API's name in Kafka's metrics: ``Produce``, ``InitProducerId``."""
    return "".join(word.capitalize() for word in ApiKey(api_key).name.split("_"))
