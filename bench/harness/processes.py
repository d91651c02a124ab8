"""The cost of processes: CPU-seconds, also per gigabyte moved, and resident memory."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Mapping

import psutil

PLAIN_BYTES = 100_000_000
PIECE_BYTES = 1_000_000


class CpuMeter:
    """A meter of processes' CPU time since its creation.

    Args:
        pids: The process ids by name.
    """

    def __init__(self, pids: Mapping[str, int]) -> None:
        self._processes = {name: psutil.Process(pid) for name, pid in pids.items()}
        self._start = self._seconds()

    def _seconds(self) -> dict[str, float]:
        return {
            name: sum(process.cpu_times()[:2])  # user and system
            for name, process in self._processes.items()
        }

    def spent(self) -> dict[str, float]:
        """Return the CPU-seconds of each process since the meter was created."""
        return {f"s of CPU of {name}": now - self._start[name] for name, now in self._seconds().items()}

    def per_gb(self, moved_bytes: int) -> dict[str, float]:
        """Return the CPU-seconds of each process per 10^9 bytes moved since the meter was created."""
        return {
            f"cpu_s_per_gb {name}": (seconds - self._start[name]) / (moved_bytes / 1e9)
            for name, seconds in self._seconds().items()
        }


def resident_mb(pid: int) -> float:
    """Return the resident set of a process in 10^6 bytes."""
    return float(psutil.Process(pid).memory_info().rss) / 1e6


def plain_write_s_per_gb() -> float:
    """Measure the CPU-seconds of writing 10^9 bytes to a new file, in the folder where clusters keep logs.

    This is a lower bound for a log. On a virtual machine whose host allocates memory page by page it is ten
    times as high as elsewhere, which is half of a broker's cost.
    """
    piece = os.urandom(PIECE_BYTES)
    with tempfile.TemporaryFile(prefix="barnabas-bench-", buffering=0) as file:
        start = time.process_time()
        for _ in range(PLAIN_BYTES // PIECE_BYTES):
            file.write(piece)
        return (time.process_time() - start) / (PLAIN_BYTES / 1e9)
