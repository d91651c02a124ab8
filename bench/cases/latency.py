"""How long does an acknowledgement of all in-sync replicas take when there is little to do?"""

from __future__ import annotations

import statistics
import time

import confluent_kafka

from barnabas.observe import Observer
from bench.cluster import running_cluster
from bench.producers import PARTITIONS, TOPIC
from bench.registry import Bench, Run, at_most

SIZE = 100
RATE = 1_000
SECONDS = 10
WARM_UP_S = 2
LEAST_WAIT_S = 0.001
"""The client counts waits in whole milliseconds: it takes less for no wait at all, and would spin."""


def latencies_ms(bootstrap: str, seconds: int) -> list[float]:
    """Write at ``RATE`` records/s for so long; the time from each produce to its acknowledgement."""
    seen: list[float] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "linger.ms": 0, "log_level": 2}
    )

    def send(number: int) -> None:
        sent = time.perf_counter()

        def report(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
            if error is not None:
                raise confluent_kafka.KafkaException(error)
            seen.append((time.perf_counter() - sent) * 1e3)

        producer.produce(TOPIC, b"x" * SIZE, partition=number % PARTITIONS, on_delivery=report)

    start = time.perf_counter()
    for number in range(seconds * RATE):
        due = start + number / RATE
        while (early := due - time.perf_counter()) > 0:
            producer.poll(max(early, LEAST_WAIT_S))
        send(number)
    producer.flush(30)
    return seen


def measure() -> Run:
    """The 99th percentile, after a warm-up."""
    with running_cluster() as cluster:
        Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
        latencies_ms(cluster.bootstrap, WARM_UP_S)
        cuts = statistics.quantiles(latencies_ms(cluster.bootstrap, SECONDS), n=1000, method="inclusive")
        return Run(cuts[989], {"p50 ms": cuts[499], "p99.9 ms": cuts[998]})


BENCHES = (
    Bench(
        name="latency",
        question="What is the 99th percentile of acks=all, RF 3, at 1,000 records/s?",
        unit="ms",
        target=at_most(10.0),
        measure=measure,
    ),
)
