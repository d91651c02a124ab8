"""How long is a broker away that was killed: the recovery of its log, against the speed of its disk."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from barnabas.bench.log_writer import RECORD_SIZE, RECORDS_PER_BATCH, TP, open_directory
from barnabas.bench.registry import Bench, Run, at_least
from barnabas.broker.disk.files import expect_sequential_reads

MEGABYTES = 1_000
CHUNK = 1 << 20
"""Bytes that the peer reads at once, as many as recovery."""

TURNS = 3
"""How often each is done in a run: a disk that others use, too, is not as fast at all times."""


def write_and_kill(directory: Path, megabytes: int) -> int:
    """Let a process write a log of a given size, kill it, and return the last end offset that it printed.

    Raises:
        RuntimeError: The process ended by itself.
    """
    wanted = megabytes * 1_000_000 // RECORD_SIZE
    command = [sys.executable, "-m", "barnabas.bench.log_writer", str(directory)]
    told = 0
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
        assert writer.stdout is not None
        for line in writer.stdout:
            told = int(line)
            if told >= wanted:
                break
        writer.send_signal(signal.SIGKILL)
    if told < wanted:
        raise RuntimeError(f"the writer ended at offset {told}, expected {wanted}")
    return told


def files_of(directory: Path) -> list[Path]:
    """The segments of the log."""
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
    """Write and kill; then read the files and recover them in turns, and compare the best of each."""
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder:
        directory = Path(folder)
        told = write_and_kill(directory, megabytes)
        paths = files_of(directory)
        size = sum(path.stat().st_size for path in paths)
        read_all(paths)  # so that no layer below us knows more the second time than the first
        disk, recovered = [], []
        for _ in range(TURNS):
            disk.append(read_all(paths))
            recovered.append(recover(directory, told))
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
        question="Which share of the disk's sequential speed has the recovery of a 1-GB log after SIGKILL?",
        unit="of the disk's",
        target=at_least(0.8),
        measure=measure,
        sizes={"megabytes": MEGABYTES},
    ),
)
