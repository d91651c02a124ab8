"""The time until every broker knows the leaders of a new topic.

The clock runs from a client's CreateTopics until the metadata of each of three brokers have a leader for
every partition.
"""

from __future__ import annotations

import time
from contextlib import ExitStack

from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from barnabas.bench.clients.metadata_probe import MetadataProbe
from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import CpuMeter
from barnabas.bench.harness.registry import Bench, Run, at_most

TOPIC = "created"
REPLICATION_FACTOR = 3
DEADLINE_S = 120.0
POLL_S = 0.02


def measure(partitions: int) -> Run:
    """Create a topic with ``partitions`` partitions."""
    with running_cluster() as cluster, ExitStack() as stack:
        probes = [stack.enter_context(MetadataProbe(broker.kafka)) for broker in cluster.brokers.values()]
        admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
        admin.list_topics(timeout=DEADLINE_S)
        meter = CpuMeter(broker_pids(cluster))
        topic = NewTopic(TOPIC, num_partitions=partitions, replication_factor=REPLICATION_FACTOR)
        began = time.perf_counter()
        admin.create_topics([topic], request_timeout=DEADLINE_S)[TOPIC].result(DEADLINE_S)
        answered_s = time.perf_counter() - began
        for probe in probes:
            _wait_until_known(probe, partitions, began + DEADLINE_S)
        known_s = time.perf_counter() - began
        spent = meter.spent()
    return Run(
        known_s,
        {
            "ms per partition": known_s * 1000 / partitions,
            "s until CreateTopics is answered": answered_s,
            **spent,
        },
    )


def _wait_until_known(probe: MetadataProbe, partitions: int, deadline: float) -> None:
    while (known := probe.leaders_known(TOPIC)) < partitions:
        if time.perf_counter() > deadline:
            raise TimeoutError(f"a broker knew {known} of {partitions} leaders after {DEADLINE_S:g} s")
        time.sleep(POLL_S)


BENCHES = (
    Bench(
        name="create-topic",
        question="How long from CreateTopics until all brokers know all leaders, RF 3, log at INFO?",
        unit="s",
        target=at_most(3.0),
        measure=measure,
        sizes={"partitions": 1_000},
        scales_with="partitions",
    ),
)
