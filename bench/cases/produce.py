"""How fast does one ordinary producer write with acks=all, RF 3, to three brokers?"""

from __future__ import annotations

import functools
import os
import time

import confluent_kafka

from barnabas.cluster import LocalCluster
from barnabas.observe import Observer
from bench.cluster import broker_pids, running_cluster
from bench.processes import CpuMeter
from bench.registry import Bench, Run, at_least

TOPIC = "produce"
PARTITIONS = 3
"""One leader a broker."""

WARM_UP_BYTES = 20_000_000
FLUSH_TIMEOUT_S = 120.0


def write(bootstrap: str, records: int, size: int) -> float:
    """Write records of ``size`` bytes with acks=all and wait until all are acknowledged; seconds it took.

    Raises:
        confluent_kafka.KafkaException: A record failed.
        TimeoutError: Some had no outcome after ``FLUSH_TIMEOUT_S``.
    """
    failures: list[confluent_kafka.KafkaError] = []

    def report(error: confluent_kafka.KafkaError | None, _: confluent_kafka.Message) -> None:
        if error is not None:
            failures.append(error)

    producer = confluent_kafka.Producer(
        {
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": 5,
            "delivery.report.only.error": True,
            "queue.buffering.max.messages": 1_000_000,
            "log_level": 2,
        }
    )
    value = os.urandom(size)
    start = time.perf_counter()
    for number in range(records):
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % PARTITIONS, on_delivery=report)
            except BufferError:
                producer.poll(0.01)
            else:
                break
    left = producer.flush(FLUSH_TIMEOUT_S)
    seconds = time.perf_counter() - start
    if failures:
        raise confluent_kafka.KafkaException(failures[0])
    if left:
        raise TimeoutError(f"{left} of {records} records had no outcome after {FLUSH_TIMEOUT_S:g} s")
    return seconds


def cpu_meter(cluster: LocalCluster) -> CpuMeter:
    """A meter of the client's process and of each broker's."""
    return CpuMeter({"client": os.getpid(), **broker_pids(cluster)})


def measure(size: int, total_bytes: int, *, in_records: bool) -> Run:
    """Write ``total_bytes`` after a warm-up; the figure in MB/s, or in records/s."""
    with running_cluster() as cluster:
        Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
        write(cluster.bootstrap, WARM_UP_BYTES // size, size)
        meter = cpu_meter(cluster)
        records = total_bytes // size
        seconds = write(cluster.bootstrap, records, size)
        rate = records / seconds
        return Run(rate if in_records else rate * size / 1e6, meter.per_gb(records * size))


BENCHES = (
    Bench(
        name="produce-1k",
        question="How fast does one confluent-kafka producer write 1-KB records with acks=all, RF 3?",
        unit="MB/s",
        target=at_least(60.0),
        measure=functools.partial(measure, 1_000, 400_000_000, in_records=False),
    ),
    Bench(
        name="produce-100b",
        question="How fast does one confluent-kafka producer write 100-byte records with acks=all, RF 3?",
        unit="records/s",
        target=at_least(400_000.0),
        measure=functools.partial(measure, 100, 200_000_000, in_records=True),
    ),
)
