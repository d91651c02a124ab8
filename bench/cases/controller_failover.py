"""The time that a controller failover takes.

The clock starts when the candidate reads ``/controller``, just before it creates the node. It stops when the
failover is complete: every LeaderAndIsr and UpdateMetadata is queued for its broker.
"""

from __future__ import annotations

import time
from functools import partial
from pathlib import Path

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.bench.stubs.cluster import candidate, lay_out, layout, stub_brokers, with_zookeeper


def measure(partitions: int) -> Run:
    """Measure one failover of a cluster with ``partitions`` partitions, replication factor 3."""
    return with_zookeeper(partial(_measure, partitions))


async def _measure(partitions: int, zookeeper: str, directory: Path) -> Run:
    await lay_out(zookeeper, layout(partitions))
    with stub_brokers(zookeeper):
        async with candidate(zookeeper, directory) as controller:
            began, cpu = time.perf_counter(), time.process_time()
            await controller.take_over()
            ready_s, cpu_s = time.perf_counter() - began, time.process_time() - cpu
            answered_s = await controller.answers.settle() - began
    return Run(
        ready_s,
        {
            "ms per partition": ready_s * 1000 / partitions,
            "s of CPU": cpu_s,
            "s to the last LeaderAndIsr answered": answered_s,
            **controller.lag.details,
        },
    )


BENCHES = (
    Bench(
        name="controller-failover",
        question="How long until a new controller is ready, state-change.log at INFO?",
        unit="s",
        target=at_most(0.5),
        measure=measure,
        sizes={"partitions": 10_000},
        scales_with="partitions",
    ),
)
