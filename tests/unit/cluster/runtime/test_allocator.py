from __future__ import annotations

import subprocess
import sys

import pytest

BUFFERS = """
import resource
from barnabas.cluster.runtime.allocator import keep_freed_memory

def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt

def flow(times):
    before = faults()
    for _ in range(times):
        buffers = [bytes(1_000_000) for _ in range(4)]
        del buffers
    return faults() - before

flow(2)
as_it_was = flow(50)
known = keep_freed_memory()
flow(2)
print(known, as_it_was, flow(50))
"""


def test_buffers_that_come_and_go_use_the_same_memory() -> None:
    done = subprocess.run([sys.executable, "-c", BUFFERS], check=True, capture_output=True, text=True)
    known, before, after = done.stdout.split()
    if known == "False":
        pytest.skip("the C library has no mallopt")
    # A single buffer is 244 pages.
    assert int(after) < 244 < int(before)


HOLES = """
from pathlib import Path
from barnabas.cluster.runtime.allocator import keep_freed_memory, return_freed_memory

def resident():
    return 4096 * int(Path("/proc/self/statm").read_text().split()[1])

known = keep_freed_memory()
buffers = [bytes([1]) * 20_000 for _ in range(10_000)]
kept = buffers[::100]
del buffers
before = resident()
return_freed_memory()
print(known, before - resident())
"""


def test_free_pages_between_buffers_are_returned() -> None:
    done = subprocess.run([sys.executable, "-c", HOLES], check=True, capture_output=True, text=True)
    known, returned = done.stdout.split()
    if known == "False":
        pytest.skip("the C library has no mallopt")
    assert int(returned) > 100_000_000
