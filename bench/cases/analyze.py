"""The speed at which Spark turns logs into the table of events, compared with a plain Python program."""

from __future__ import annotations

import os
import tempfile
import threading
import time
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from barnabas.analysis.runtime.session import spark_session
from barnabas.analysis.scan import write_events
from barnabas.analysis.sources import find
from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.bench.logs.plain_reader import read_logs
from barnabas.bench.logs.state_change_logs import write_logs

LINES = 1_000_000
PEER_LINES_MAX = 1_000_000
"""The most lines that the plain program reads; its speed does not depend on their number."""

SAMPLE_S = 2.0
"""Seconds between two samples. Sampling walks all pages, and its CPU time counts as Spark's."""


class PeakMemory:
    """The peak memory of this process and its descendants during a ``with`` block, in 10^6 bytes.

    Attributes:
        driver_mb: The peak of this process.
        java_mb: The peak of Spark's Java process, which has the driver and the executors.
        python_mb: The peak of all Python workers together.
    """

    def __init__(self) -> None:
        self.driver_mb = 0.0
        self.java_mb = 0.0
        self.python_mb = 0.0
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()

    def _watch(self) -> None:
        # A last sample at the end covers blocks shorter than SAMPLE_S.
        while not self._done.wait(SAMPLE_S):
            self._sample()
        self._sample()

    def _sample(self) -> None:
        java = python = 0.0
        for process in psutil.Process().children(recursive=True):
            try:
                is_java, held = process.name() == "java", _own_mb(process)
            except psutil.NoSuchProcess:
                continue
            java, python = (java + held, python) if is_java else (java, python + held)
        self.driver_mb = max(self.driver_mb, _own_mb(psutil.Process()))
        self.java_mb, self.python_mb = max(self.java_mb, java), max(self.python_mb, python)


def _own_mb(process: psutil.Process) -> float:
    # USS leaves out shared pages, so forked workers do not count their parent's memory again.
    return float(process.memory_full_info().uss) / 1e6


def _core_seconds() -> float:
    """Return the CPU-seconds of this process and its descendants, which do not depend on other load."""
    processes = [psutil.Process(), *psutil.Process().children(recursive=True)]
    return sum(sum(process.cpu_times()[:4]) for process in processes if process.is_running())


def measure(lines: int) -> Run:
    """Write logs, read them with both programs, and compare lines per CPU-second."""
    cores = len(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as directory:
        folder = Path(directory)
        paths = write_logs(folder / "logs", lines)
        size = sum(path.stat().st_size for path in paths)
        sample = paths if lines <= PEER_LINES_MAX else write_logs(folder / "sample", PEER_LINES_MAX)
        begin = time.process_time()
        compared = read_logs(sample, folder / "peer.parquet")
        peer = compared / (time.process_time() - begin)
        with spark_session() as spark, PeakMemory() as peak:
            begin, spent = time.perf_counter(), _core_seconds()
            tallies = write_events(spark, find(paths), folder / "events")
            seconds, spent = time.perf_counter() - begin, _core_seconds() - spent
        entries = sum(tally["entries"] for tally in tallies)
        ours = entries / spent
        return Run(
            ours / peer,
            {
                "lines/s per core": ours,
                "lines/s per core of the peer": peer,
                "lines that the peer read": compared,
                "core-seconds": spent,
                "MB/s per core": size / 1e6 / spent,
                f"lines/s on {cores} cores": entries / seconds,
                "understood %": 100 * sum(tally["understood"] for tally in tallies) / entries,
                "peak MB of the driver's Python": peak.driver_mb,
                "peak MB of Java": peak.java_mb,
                "peak MB of Python workers": peak.python_mb,
            },
        )


BENCHES = (
    Bench(
        name="analyze",
        question="Logs to typed Parquet: how many times the lines/s per core of plain Python?",
        unit="times the peer",
        target=at_least(2.0),
        measure=measure,
        runs=1,
        sizes={"lines": LINES},
    ),
)
