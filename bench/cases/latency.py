"""The latency of a produce with acks=all at a thousand records per second.

Two benches: with the client's defaults, which wait 5 ms to fill a batch (``linger.ms``), and with every
record in a request of its own, which is a thousand requests per second.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Mapping
from functools import partial

import confluent_kafka

from barnabas.bench.clients.producers import PARTITIONS, TOPIC
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.local.observe import Observer

SIZE = 100
RATE = 1_000
SECONDS = 10
WARM_UP_S = 2
LEAST_WAIT_S = 0.001
"""The shortest wait. The client rounds waits down to whole milliseconds, so a shorter one would spin."""


def latencies_ms(bootstrap: str, seconds: int, settings: Mapping[str, int], rate: int = RATE) -> list[float]:
    """Write at ``rate`` records/s, and return the time from each produce to its acknowledgement.

    Args:
        bootstrap: The bootstrap servers.
        seconds: The duration.
        settings: Settings of the producer in addition to acks=all.
        rate: The records a second.
    """
    seen: list[float] = []
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": bootstrap, "acks": "all", "log_level": 2, **settings}
    )

    def send(number: int) -> None:
        sent = time.perf_counter()

        def report(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
            if error is not None:
                raise confluent_kafka.KafkaException(error)
            seen.append((time.perf_counter() - sent) * 1e3)

        producer.produce(TOPIC, b"x" * SIZE, partition=number % PARTITIONS, on_delivery=report)

    start = time.perf_counter()
    for number in range(seconds * rate):
        due = start + number / rate
        while (early := due - time.perf_counter()) > 0:
            producer.poll(max(early, LEAST_WAIT_S))
        send(number)
    producer.flush(30)
    return seen


def _measure(settings: Mapping[str, int]) -> Run:
    """Measure the 99th percentile, after a warm-up."""
    with running_cluster() as cluster:
        Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
        latencies_ms(cluster.bootstrap, WARM_UP_S, settings)
        meter = CpuMeter(broker_pids(cluster))
        cuts = statistics.quantiles(
            latencies_ms(cluster.bootstrap, SECONDS, settings), n=1000, method="inclusive"
        )
        share = {
            name.replace("s of CPU", "CPU-s/s"): spent / SECONDS for name, spent in meter.spent().items()
        }
        return Run(cuts[989], {"p50 ms": cuts[499], "p99.9 ms": cuts[998], **share})


BENCHES = tuple(
    Bench(
        name=name,
        question=f"What is the 99th percentile of acks=all, RF 3, at 1,000 records/s{how}?",
        unit="ms",
        target=at_most(10.0),
        measure=partial(_measure, settings),
    )
    for name, how, settings in (
        ("latency", "", {}),
        ("latency-alone", ", each in a request of its own (linger.ms=0)", {"linger.ms": 0}),
    )
)
