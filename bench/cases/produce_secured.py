"""The cost of security for a producer: SASL_SSL for clients, mutual TLS between brokers, an authorizer."""

from __future__ import annotations

from collections.abc import Mapping

import confluent_kafka.admin

from barnabas.bench.clients.producers import PARTITIONS, TOPIC, Producers
from barnabas.bench.harness.cluster import broker_pids, running_cluster, secured_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.local.cluster import LocalCluster

RECORD_BYTES = 1_000
WARM_UP_RECORDS = 20_000
RECORDS = 200_000

_TOPIC_TIMEOUT_S = 30


def measure() -> Run:
    """Write the same records with acks=all to a plain and to a secured cluster, and compare the rates."""
    with running_cluster() as cluster:
        plain, plain_cpu_s = _written(cluster, {})
    with secured_cluster() as (cluster, login):
        secured, secured_cpu_s = _written(cluster, login.librdkafka())
    return Run(
        secured / plain,
        {
            "plaintext, MB/s": plain,
            "secured, MB/s": secured,
            "plaintext, CPU-seconds of brokers and client": plain_cpu_s,
            "secured, CPU-seconds of brokers and client": secured_cpu_s,
        },
    )


def _written(cluster: LocalCluster, settings: Mapping[str, str]) -> tuple[float, float]:
    """Write the records, and return MB/s and the CPU-seconds of all processes."""
    client = confluent_kafka.admin.AdminClient({**settings, "bootstrap.servers": cluster.bootstrap})
    topic = confluent_kafka.admin.NewTopic(TOPIC, PARTITIONS, 3)
    client.create_topics([topic])[TOPIC].result(_TOPIC_TIMEOUT_S)
    with Producers(cluster.bootstrap, 1, RECORD_BYTES, settings) as producers:
        producers.warm_up(WARM_UP_RECORDS)
        meter = CpuMeter({**producers.pids, **broker_pids(cluster)})
        seconds = producers.write(RECORDS)
        return RECORDS * RECORD_BYTES / 1e6 / seconds, sum(meter.spent().values())


BENCHES = (
    Bench(
        name="produce-secured",
        question="How fast is produce with SASL_SSL, mutual TLS between brokers and ACLs, of plaintext?",
        unit="of plaintext",
        target=at_least(0.4),
        measure=measure,
    ),
)
