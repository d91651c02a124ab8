"""The time that ``barnabas analyze`` takes, from its start to the report."""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

from barnabas.bench.harness.registry import Bench, Run, at_most
from barnabas.bench.logs.state_change_logs import write_logs


def measure(lines: int) -> Run:
    """Write the logs of three brokers, and run the command on them."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        folder = Path(directory)
        size = sum(path.stat().st_size for path in write_logs(folder / "logs", lines))
        paths = (str(folder / "report"), str(folder / "logs"))
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-m", "barnabas", "analyze", "--out", *paths],
            check=True,
            stdout=subprocess.DEVNULL,
        )
        seconds = time.perf_counter() - begin
    return Run(seconds, {"lines/s": lines / seconds, "MB/s": size / 1e6 / seconds})


BENCHES = (
    Bench(
        name="analyze",
        question="How long does `barnabas analyze` take for 1,000,000 lines?",
        unit="s",
        target=at_most(20.0),
        measure=measure,
        runs=1,
        sizes={"lines": 1_000_000},
    ),
)
