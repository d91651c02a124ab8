"""The alerts for Prometheus, served over HTTP at ``/metrics`` by a thread of their own."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime

from prometheus_client import CollectorRegistry, start_http_server
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.registry import Collector

from barnabas.analysis.alerting.decide import SEVERITY, Alert, Alerts, Status, due
from barnabas.analysis.story.episodes import AlertKind

SHOWN = 1_000
"""The most firing alerts that are shown one by one; ``barnabas_alerts_firing`` counts all."""


@dataclass(slots=True)
class Figures:
    """The figures that the page shows.

    Attributes:
        alerts: The alerts.
        cluster: The name of the cluster; None if it is not known.
        raised: The number of alerts raised since the start of the follower, by kind.
        looks: The number of looks at the logs since then.
        looked: When the last of these ended; None before.
        failures: The number of failed attempts to reach the webhook.
        has_webhook: Whether there is one.
    """

    alerts: Alerts = field(default_factory=Alerts)
    cluster: str | None = None
    raised: Counter[AlertKind] = field(default_factory=Counter)
    looks: int = 0
    looked: datetime | None = None
    failures: int = 0
    has_webhook: bool = False


class _Alerts(Collector):
    """The figures as metrics; they are read when Prometheus asks."""

    def __init__(self, read: Callable[[], Figures]) -> None:
        self._read = read

    def collect(self) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
        """Return the metrics with current values, as ``Collector`` demands."""
        figures = self._read()
        firing = [each for each in figures.alerts.all if each.status is Status.FIRING]
        yield from _counts(figures, firing)
        one_by_one = GaugeMetricFamily(
            "barnabas_alert", f"1 for each alert that fires, at most {SHOWN:,} of them.",
            labels=("id", "kind", "severity", "cluster", "brokers", "topic", "partition"),
        )  # fmt: skip
        since = GaugeMetricFamily(
            "barnabas_alert_since_timestamp_seconds",
            "The latest moment at which what the alert is about began, by the clocks of the brokers.",
            labels=("id",),
        )
        for alert in firing[:SHOWN]:
            shown, cluster = alert.shown, figures.cluster or ""
            partition = "" if shown["partition"] is None else str(shown["partition"])
            brokers = ",".join(map(str, shown["brokers"]))
            topic = shown["topic"] or ""
            labels = (alert.id, alert.kind.value, shown["severity"], cluster, brokers, topic, partition)
            one_by_one.add_metric(labels, 1)
            since.add_metric((alert.id,), alert.since.replace(tzinfo=UTC).timestamp())
        yield one_by_one
        yield since
        if figures.has_webhook:
            yield GaugeMetricFamily(
                "barnabas_alerts_webhook_pending", "Messages that the webhook has not accepted yet.",
                value=len(due(figures.alerts)),
            )  # fmt: skip
            yield CounterMetricFamily(
                "barnabas_alerts_webhook_failures", "Failed attempts to reach the webhook.",
                value=figures.failures,
            )  # fmt: skip


def _counts(figures: Figures, firing: list[Alert]) -> Iterator[GaugeMetricFamily | CounterMetricFamily]:
    now = GaugeMetricFamily("barnabas_alerts_firing", "Alerts that fire.", labels=("kind", "severity"))
    ever = CounterMetricFamily(
        "barnabas_alerts_raised", "Alerts raised since the follower started.", labels=("kind", "severity")
    )
    number = Counter(each.kind for each in firing)
    for kind, severity in SEVERITY.items():
        now.add_metric((kind.value, severity.value), number[kind])
        ever.add_metric((kind.value, severity.value), figures.raised[kind])
    yield now
    yield ever
    yield CounterMetricFamily(
        "barnabas_follow_looks", "Analyses of the logs since the follower started.", value=figures.looks
    )
    if figures.looked is not None:
        yield GaugeMetricFamily(
            "barnabas_follow_looked_timestamp_seconds", "When the last analysis of the logs ended.",
            value=figures.looked.replace(tzinfo=UTC).timestamp(),
        )  # fmt: skip


class MetricsServer:
    """The HTTP server of the metrics.

    Args:
        host: The address to bind.
        port: The TCP port; 0 takes a free one.
        read: Returns the figures; called on the server's threads.

    Raises:
        OSError: The address cannot be bound.
    """

    def __init__(self, host: str, port: int, read: Callable[[], Figures]) -> None:
        registry = CollectorRegistry()
        registry.register(_Alerts(read))
        self._server, self._thread = start_http_server(port, host, registry)

    @property
    def port(self) -> int:
        """Return the port that the server is bound to."""
        return int(self._server.server_port)

    def close(self) -> None:
        """Stop serving and release the port."""
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()
