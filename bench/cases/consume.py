"""The speed at which one confluent-kafka consumer reads existing records."""

from __future__ import annotations

import os
import time

import confluent_kafka

from barnabas.bench.clients.producers import PARTITIONS, TOPIC, write
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.local.observe import Observer

SIZE = 1_000
RECORDS = 400_000
DEADLINE_S = 120.0


def read(bootstrap: str, records: int) -> float:
    """Read ``records`` from the start of every partition, and return the seconds from the first poll.

    Raises:
        TimeoutError: The records did not arrive within ``DEADLINE_S``.
    """
    consumer = confluent_kafka.Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench",  # librdkafka requires one; the consumer does not join it
            "enable.auto.commit": False,
            # librdkafka pauses fetching for this time (default 1 s) when its own queue is full.
            "fetch.queue.backoff.ms": 10,
            "log_level": 2,
        }
    )
    consumer.assign([confluent_kafka.TopicPartition(TOPIC, number, 0) for number in range(PARTITIONS)])
    seen, start = 0, time.perf_counter()
    while seen < records:
        seen += sum(message.error() is None for message in consumer.consume(10_000, timeout=0.5))
        if time.perf_counter() - start > DEADLINE_S:
            raise TimeoutError(f"{seen} of {records} records were read in {DEADLINE_S:g} s")
    seconds = time.perf_counter() - start
    consumer.close()
    return seconds


def measure() -> Run:
    """Write records, and measure how fast they are read."""
    with running_cluster() as cluster:
        Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
        write(cluster.bootstrap, RECORDS, SIZE)
        meter = CpuMeter({"client": os.getpid(), **broker_pids(cluster)})
        seconds = read(cluster.bootstrap, RECORDS)
        moved = RECORDS * SIZE
        return Run(moved / seconds / 1e6, meter.per_gb(moved))


BENCHES = (
    Bench(
        name="consume",
        question="How fast does one confluent-kafka consumer read existing 1-KB records?",
        unit="MB/s",
        target=at_least(300.0),
        measure=measure,
    ),
)
