"""The metrics of a client that the performance tools print with ``--print-metrics``.

They have the names of Java's metrics. Rates and memory are missing, because librdkafka does not count them.
Sources:
``ToolsUtils.printMetrics``, ``SenderMetricsRegistry``, ``FetcherMetricsRegistry``, ``ConsumerCoordinator``
and ``Selector`` of Kafka 2.8; the statistics of librdkafka 2, as its documentation lists them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

INTERVAL_MS = 200
"""The time between two statistics of librdkafka; the last ones may be so old."""

_WAIT_S = 5.0
_US_PER_MS = 1000

Metrics = Mapping[str, int | float]
"""The values by ``group:name:{tags}``."""


class Statistics:
    """The last statistics of a client.

    Attributes:
        count: The number of statistics received.
    """

    def __init__(self) -> None:
        self.count = 0
        self._last: dict[str, Any] = {}

    def settings(self) -> dict[str, Any]:
        """Return the settings of the client."""
        return {"statistics.interval.ms": INTERVAL_MS, "stats_cb": self._take}

    def _take(self, text: str) -> None:
        self.count += 1
        self._last = json.loads(text)

    def metrics(self, poll: Callable[[float], object]) -> Metrics:
        """Return the metrics up to now.

        Args:
            poll: Lets the client report; takes the longest time to wait in seconds.
        """
        # One report may have been made before the last event, and waits to be taken.
        enough, deadline = self.count + 2, time.monotonic() + _WAIT_S
        while self.count < enough and time.monotonic() < deadline:
            poll(INTERVAL_MS / 1000)
        return metrics_of(self._last)


def metrics_of(statistics: Mapping[str, Any]) -> Metrics:
    """Return the metrics in the statistics of a producer or a consumer."""
    kind = statistics.get("type", "")
    client = {"client-id": statistics.get("client_id", "")}
    rows = [*_of_connections(kind, statistics, client)]
    rows += _of_consumer(statistics, client) if kind == "consumer" else _of_producer(statistics, client)
    return {f"{group}:{name}:{_tags(tags)}": value for group, name, tags, value in rows}


_Row = tuple[str, str, Mapping[str, Any], int | float]


def _tags(tags: Mapping[str, Any]) -> str:
    return "{" + ", ".join(f"{name}={value}" for name, value in tags.items()) + "}"


def _of_connections(kind: str, statistics: Mapping[str, Any], client: Mapping[str, str]) -> Iterator[_Row]:
    brokers = list(statistics.get("brokers", {}).values())
    group, of_node = f"{kind}-metrics", f"{kind}-node-metrics"
    opened, closed = (sum(each[name] for each in brokers) for name in ("connects", "disconnects"))
    yield group, "connection-close-total", client, float(closed)
    yield group, "connection-count", client, float(sum(each["state"] == "UP" for each in brokers))
    yield group, "connection-creation-total", client, float(opened)
    totals = {
        "incoming-byte-total": "rx_bytes",
        "outgoing-byte-total": "tx_bytes",
        "request-total": "tx",
        "response-total": "rx",
    }
    for name, field in totals.items():
        yield group, name, client, float(statistics.get(field, 0))
    for each in brokers:
        if each["nodeid"] < 0:
            continue
        node = {**client, "node-id": f"node-{each['nodeid']}"}
        for name, field in totals.items():
            yield of_node, name, node, float(each[field.replace("_", "")])
        if each["rtt"]["cnt"]:
            yield of_node, "request-latency-avg", node, each["rtt"]["avg"] / _US_PER_MS
            yield of_node, "request-latency-max", node, each["rtt"]["max"] / _US_PER_MS


def _partitions(topic: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The partitions of a topic; number -1 is librdkafka's own."""
    return [each for each in topic["partitions"].values() if each["partition"] >= 0]


def _of_producer(statistics: Mapping[str, Any], client: Mapping[str, str]) -> Iterator[_Row]:
    group, of_topic = "producer-metrics", "producer-topic-metrics"
    brokers = statistics.get("brokers", {}).values()
    yield group, "record-retry-total", client, float(sum(each["txretries"] for each in brokers))
    yield group, "record-send-total", client, float(statistics.get("txmsgs", 0))
    for name, topic in statistics.get("topics", {}).items():
        tags = {**client, "topic": name}
        records = sum(each["txmsgs"] for each in _partitions(topic))
        yield of_topic, "record-send-total", tags, float(records)
        yield of_topic, "byte-total", tags, float(sum(each["txbytes"] for each in _partitions(topic)))


def _of_consumer(statistics: Mapping[str, Any], client: Mapping[str, str]) -> Iterator[_Row]:
    group, fetcher = statistics.get("cgrp"), "consumer-fetch-manager-metrics"
    if group is not None:
        coordinator = "consumer-coordinator-metrics"
        yield coordinator, "assigned-partitions", client, float(group["assignment_size"])
        yield coordinator, "last-rebalance-seconds-ago", client, float(group["rebalance_age"] // 1000)
        yield coordinator, "rebalance-total", client, float(group["rebalance_cnt"])
    yield fetcher, "bytes-consumed-total", client, float(statistics.get("rxmsg_bytes", 0))
    yield fetcher, "records-consumed-total", client, float(statistics.get("rxmsgs", 0))
    for name, topic in statistics.get("topics", {}).items():
        tags = {**client, "topic": name}
        yield fetcher, "bytes-consumed-total", tags, float(sum(p["rxbytes"] for p in _partitions(topic)))
        yield fetcher, "records-consumed-total", tags, float(sum(p["rxmsgs"] for p in _partitions(topic)))
        for each in _partitions(topic):
            of_partition = {**tags, "partition": each["partition"]}
            if each["app_offset"] >= 0 and each["hi_offset"] >= 0:
                yield fetcher, "records-lag", of_partition, float(each["hi_offset"] - each["app_offset"])
                yield fetcher, "records-lead", of_partition, float(each["app_offset"] - each["lo_offset"])


def table(metrics: Metrics) -> str:
    """Return the lines that show metrics; none if there are none."""
    if not metrics:
        return ""
    width = max(map(len, metrics))
    rows = (f"{name:{width}} : {metrics[name]:.3f}\n" for name in sorted(metrics))
    return f"\n{'Metric Name':{width}}   Value\n" + "".join(rows)
