"""The time that a cluster for tests takes until it serves, imports included."""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time

from barnabas.bench.harness.registry import Bench, Run, at_most

_PROGRAM = """
import sys
from barnabas.testing import Cluster
with Cluster(int(sys.argv[1])):
    print("serves", flush=True)
    sys.stdin.read()
"""


def measure(brokers: int) -> Run:
    """Start a process that starts a cluster, until all brokers serve and know each other.

    Python may keep the bytecode of our modules, as pip does when it installs them.
    """
    cpu_before = _cpu_of_children()
    began = time.perf_counter()
    command = [sys.executable, "-P", "-c", _PROGRAM, str(brokers)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    with subprocess.Popen(command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        line = process.stdout.readline()
        took = time.perf_counter() - began
        process.communicate()
    if not line:
        raise RuntimeError(f"the cluster of {brokers} brokers did not start")
    return Run(took, {"CPU-seconds of start and stop": _cpu_of_children() - cpu_before})


def _cpu_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


BENCHES = (
    Bench(
        name="cluster-for-tests",
        question="How long does a test's cluster of three brokers take until it serves?",
        unit="s",
        target=at_most(2.0),
        measure=measure,
        runs=5,
        sizes={"brokers": 3},
    ),
    Bench(
        name="broker-for-tests",
        question="How long does a test's cluster of one broker take until it serves?",
        unit="s",
        target=at_most(1.0),
        measure=lambda: measure(1),
        runs=5,
    ),
)
