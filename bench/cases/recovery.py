"""The speed of the recovery of a log after SIGKILL, compared with reading the log from disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from barnabas.bench.harness.registry import Bench, Run, at_least
from barnabas.bench.logs.log_writer import RECORD_SIZE, RECORDS_PER_BATCH, TP, open_directory
from barnabas.broker.disk.files import expect_sequential_reads

MEGABYTES = 1_000
CHUNK = 1 << 20
"""Bytes per read of the plain reader, the same as in recovery."""

TURNS = 3
"""Repetitions of reading and recovery in a run, because the speed of a shared disk varies."""


def write_and_kill(directory: Path, megabytes: int) -> int:
    """Start a process that writes a log of a given size, kill it, and return the last offset it printed.

    Raises:
        RuntimeError: The process ended by itself.
    """
    wanted = megabytes * 1_000_000 // RECORD_SIZE
    command = [sys.executable, "-m", "barnabas.bench.logs.log_writer", str(directory)]
    printed = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            printed = int(line)
            if printed >= wanted:
                break
        writer.send_signal(signal.SIGKILL)
    if printed < wanted:
        raise RuntimeError(f"the writer ended at offset {printed}, expected {wanted}")
    return printed


def files_of(directory: Path) -> list[Path]:
    """Return the segments of the log."""
    return sorted(directory.glob(f"{TP}/*.log"))


def forget(paths: list[Path]) -> None:
    """Drop the files from the page cache, as after a restart of the machine."""
    for path in paths:
        fd = os.open(path, os.O_RDONLY)
        try:
            os.fsync(fd)
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(fd)


def read_all(paths: list[Path]) -> float:
    """Return the seconds for reading the files from disk."""
    forget(paths)
    begin = time.perf_counter()
    for path in paths:
        with path.open("rb", buffering=0) as file:
            expect_sequential_reads(file.fileno())
            while file.read(CHUNK):
                pass
    return time.perf_counter() - begin


def recover(directory: Path, expected: int) -> tuple[float, float]:
    """Recover the directory, and return the elapsed seconds and the CPU-seconds.

    Raises:
        RuntimeError: The log ends before ``expected``.
    """
    forget(files_of(directory))
    with ThreadPoolExecutor(max_workers=1) as executor:
        begin, cpu = time.perf_counter(), time.process_time()
        dirs = open_directory(directory, executor)
        seconds, cpu = time.perf_counter() - begin, time.process_time() - cpu
        end_offset = dirs.logs[TP].log_end_offset
        dirs.fail(directory, "left as a crash leaves it")
    if end_offset < expected or end_offset % RECORDS_PER_BATCH:
        raise RuntimeError(f"the log ends at {end_offset}, expected {expected} or more, in whole batches")
    return seconds, cpu


def measure(megabytes: int) -> Run:
    """Write a log and kill the writer; read and recover the log in turns; compare the best of each."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder:
        directory = Path(folder)
        end_offset = write_and_kill(directory, megabytes)
        paths = files_of(directory)
        size = sum(path.stat().st_size for path in paths)
        read_all(paths)  # this fills caches below the page cache, so that all turns find the same
        disk, recovered = [], []
        for _ in range(TURNS):
            disk.append(read_all(paths))
            recovered.append(recover(directory, end_offset))
        (seconds, cpu), fastest = min(recovered), min(disk)
        return Run(
            fastest / seconds,
            {
                "MB/s recovered": size / 1e6 / seconds,
                "MB/s of the disk": size / 1e6 / fastest,
                "seconds": seconds,
                "cpu_s_per_gb recovery": cpu / (size / 1e9),
            },
        )


BENCHES = (
    Bench(
        name="recovery",
        question="Recovery of a 1-GB log after SIGKILL: which share of the disk's sequential speed?",
        unit="of the disk's",
        target=at_least(0.8),
        measure=measure,
        sizes={"megabytes": MEGABYTES},
    ),
)
