"""Java's metrics from librdkafka's statistics."""

from __future__ import annotations

import json
from typing import Any

from barnabas.tools.clients.client_metrics import INTERVAL_MS, Statistics, metrics_of, table


def broker(node: int, state: str = "UP", **more: Any) -> dict[str, Any]:
    counts = {"tx": 3, "rx": 2, "txbytes": 30, "rxbytes": 20, "txretries": 1, "connects": 2, "disconnects": 1}
    return {"nodeid": node, "state": state, "rtt": {"cnt": 0, "avg": 0, "max": 0}, **counts, **more}


def partition(number: int, **more: int) -> dict[str, int]:
    counts = {"txmsgs": 5, "txbytes": 50, "rxmsgs": 7, "rxbytes": 70}
    return {"partition": number, "app_offset": -1001, "hi_offset": -1001, "lo_offset": 0, **counts, **more}


def statistics(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "type": kind,
        "client_id": "c",
        "tx": 6,
        "rx": 4,
        "tx_bytes": 60,
        "rx_bytes": 40,
        "txmsgs": 10,
        "rxmsgs": 14,
        "rxmsg_bytes": 140,
        "brokers": {
            "h:1/1": broker(1, rtt={"cnt": 2, "avg": 1500, "max": 2500}),
            "h:1/bootstrap": broker(-1, "DOWN", connects=0),
        },
        "topics": {
            "t": {
                "partitions": {
                    "0": partition(0, app_offset=8, hi_offset=10, lo_offset=3),
                    "1": partition(1),
                    "-1": partition(-1),
                }
            }
        },
        **more,
    }


OF_CONNECTIONS = {
    "metrics:connection-close-total:{client-id=c}": 2,
    "metrics:connection-count:{client-id=c}": 1,
    "metrics:connection-creation-total:{client-id=c}": 2,
    "metrics:incoming-byte-total:{client-id=c}": 40,
    "metrics:outgoing-byte-total:{client-id=c}": 60,
    "metrics:request-total:{client-id=c}": 6,
    "metrics:response-total:{client-id=c}": 4,
    "node-metrics:incoming-byte-total:{client-id=c, node-id=node-1}": 20,
    "node-metrics:outgoing-byte-total:{client-id=c, node-id=node-1}": 30,
    "node-metrics:request-total:{client-id=c, node-id=node-1}": 3,
    "node-metrics:response-total:{client-id=c, node-id=node-1}": 2,
    "node-metrics:request-latency-avg:{client-id=c, node-id=node-1}": 1.5,
    "node-metrics:request-latency-max:{client-id=c, node-id=node-1}": 2.5,
}


def test_a_producer() -> None:
    assert metrics_of(statistics("producer")) == {
        **{f"producer-{name}": value for name, value in OF_CONNECTIONS.items()},
        "producer-metrics:record-retry-total:{client-id=c}": 2,
        "producer-metrics:record-send-total:{client-id=c}": 10,
        "producer-topic-metrics:record-send-total:{client-id=c, topic=t}": 10,
        "producer-topic-metrics:byte-total:{client-id=c, topic=t}": 100,
    }


def test_a_consumer() -> None:
    group = {"assignment_size": 2, "rebalance_age": 3999, "rebalance_cnt": 1}
    fetcher = "consumer-fetch-manager-metrics"
    assert metrics_of(statistics("consumer", cgrp=group)) == {
        **{f"consumer-{name}": value for name, value in OF_CONNECTIONS.items()},
        "consumer-coordinator-metrics:assigned-partitions:{client-id=c}": 2,
        "consumer-coordinator-metrics:last-rebalance-seconds-ago:{client-id=c}": 3,
        "consumer-coordinator-metrics:rebalance-total:{client-id=c}": 1,
        f"{fetcher}:bytes-consumed-total:{{client-id=c}}": 140,
        f"{fetcher}:records-consumed-total:{{client-id=c}}": 14,
        f"{fetcher}:bytes-consumed-total:{{client-id=c, topic=t}}": 140,
        f"{fetcher}:records-consumed-total:{{client-id=c, topic=t}}": 14,
        f"{fetcher}:records-lag:{{client-id=c, topic=t, partition=0}}": 2,
        f"{fetcher}:records-lead:{{client-id=c, topic=t, partition=0}}": 5,
    }


def test_metrics_are_asked_for_until_all_events_are_in_them() -> None:
    found = Statistics()
    settings = found.settings()
    assert settings["statistics.interval.ms"] == INTERVAL_MS
    sent = iter((1, 2, 3))

    def poll(_wait_s: float) -> None:
        settings["stats_cb"](json.dumps(statistics("producer", txmsgs=next(sent))))

    assert found.metrics(poll)["producer-metrics:record-send-total:{client-id=c}"] == 2
    assert found.count == 2


def test_the_table_is_that_of_java() -> None:
    assert table({"g:long-name:{}": 1.5, "a:b:{}": 2}) == (
        "\nMetric Name      Value\na:b:{}         : 2.000\ng:long-name:{} : 1.500\n"
    )
    assert table({}) == ""
