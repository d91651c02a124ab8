"""The metrics ``kafka.server:type=socket-server-metrics`` of client listeners.

Source: ``Selector.SelectorMetrics`` of release 2.8.
"""

from __future__ import annotations

from barnabas.cluster.runtime.metrics import Metrics


class ConnectionMeter:
    """The counts of connections and authentications, by listener.

    Args:
        metrics: The metrics of this broker.
    """

    def __init__(self, metrics: Metrics) -> None:
        self._metrics = metrics

    def connected(self, listener: str) -> None:
        """Count a new connection."""
        self._metrics.connection_creations.labels(listener=listener).inc()

    def authenticated(self, listener: str, *, is_again: bool) -> None:
        """Count a client that has authenticated, or has done so again on its connection."""
        metrics = self._metrics
        counter = metrics.successful_reauthentications if is_again else metrics.successful_authentications
        counter.labels(listener=listener).inc()

    def failed(self, listener: str, *, is_again: bool) -> None:
        """Count a client that has failed to authenticate, or to do so again."""
        metrics = self._metrics
        counter = metrics.failed_reauthentications if is_again else metrics.failed_authentications
        counter.labels(listener=listener).inc()

    def expired(self, listener: str) -> None:
        """Count a connection that was closed because its session had ended."""
        self._metrics.expired_connections.labels(listener=listener).inc()
