"""The CPU time of a live page at which nobody looks."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from barnabas.bench.harness.registry import Bench, Run, at_most

SECONDS = 30


def measure(seconds: int) -> Run:
    """Measure the process of ``barnabas up``, which serves the page and passes the brokers' traffic on."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        barnabas = str(Path(sys.executable).with_name("barnabas"))
        command = [barnabas, "up", "--dir", directory, "--port", "0", "--page-port", "0"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as up:
            assert up.stdout is not None
            try:
                if not any("watch it on" in line for line in up.stdout):
                    raise RuntimeError("the cluster did not start")
                process = psutil.Process(up.pid)
                before, began = sum(process.cpu_times()[:2]), time.perf_counter()
                time.sleep(seconds)
                used, took = sum(process.cpu_times()[:2]) - before, time.perf_counter() - began
                brokers = json.loads(Path(directory, "cluster.json").read_text(encoding="utf-8"))["brokers"]
                return Run(100 * used / took, {"brokers": len(brokers), "CPU-seconds": used})
            finally:
                up.send_signal(signal.SIGTERM)
                up.stdout.read()


BENCHES = (
    Bench(
        name="idle-page",
        question="How much of a core does the process with the live page take while nobody looks?",
        unit="%",
        target=at_most(3.0),
        measure=measure,
        sizes={"seconds": SECONDS},
    ),
)
