"""The memory of an idle broker."""

from __future__ import annotations

import time

from barnabas.bench.harness.cluster import broker_pids, running_cluster
from barnabas.bench.harness.processes import resident_mb
from barnabas.bench.harness.registry import Bench, Run, at_most

SETTLE_S = 5.0


def measure() -> Run:
    """Measure the resident memory of three brokers ``SETTLE_S`` after their start; the largest counts."""
    with running_cluster() as cluster:
        time.sleep(SETTLE_S)
        resident = {f"MB {name}": resident_mb(pid) for name, pid in broker_pids(cluster).items()}
        return Run(max(resident.values()), resident)


BENCHES = (
    Bench(
        name="idle-memory",
        question="How much memory is resident in the largest of three idle brokers?",
        unit="MB",
        target=at_most(120.0),
        measure=measure,
    ),
)
