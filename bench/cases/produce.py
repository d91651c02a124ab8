"""The speed at which confluent-kafka producers write with acks=all, RF 3, to three brokers."""

from __future__ import annotations

import functools

from barnabas.bench.clients.producers import PARTITIONS, TOPIC, Producers
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter, plain_write_s_per_gb
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.local.observe import Observer

WARM_UP_BYTES = 20_000_000


def measure(size: int, total_bytes: int, *, in_records: bool, producers: int) -> Run:
    """Write ``total_bytes`` after a warm-up, and return the figure in MB/s or records/s."""
    with running_cluster() as cluster:
        Observer(cluster.bootstrap).create_topic(TOPIC, partitions=PARTITIONS)
        with Producers(cluster.bootstrap, producers, size) as clients:
            clients.warm_up(WARM_UP_BYTES // size)
            meter = CpuMeter({**clients.pids, **broker_pids(cluster)})
            records = total_bytes // size
            seconds = clients.write(records)
            spent = meter.per_gb(records * size)
            all_processes = {"cpu_s_per_million_records": sum(meter.spent().values()) / (records / 1e6)}
        rate = records / seconds
        floor = {"cpu_s_per_gb of three plain files": 3 * plain_write_s_per_gb()}
        return Run(rate if in_records else rate * size / 1e6, {**spent, **all_processes, **floor})


BENCHES = (
    Bench(
        name="produce-1k",
        question="How fast do confluent-kafka producers write 1-KB records with acks=all, RF 3?",
        unit="MB/s",
        target=at_least(100.0),
        measure=functools.partial(measure, 1_000, 400_000_000, in_records=False),
        sizes={"producers": 1},
    ),
    Bench(
        name="produce-100b",
        question="How fast do confluent-kafka producers write 100-byte records with acks=all, RF 3?",
        unit="records/s",
        target=at_least(400_000.0),
        measure=functools.partial(measure, 100, 200_000_000, in_records=True),
        sizes={"producers": 1},
    ),
)
