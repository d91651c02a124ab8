"""Processes with threads that compute without the interpreter's lock, so that SIGSTOP meets them running."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from barnabas.cluster.model.ids import BrokerId
from barnabas.local import pausing
from barnabas.local.broker_process import BrokerProcess
from barnabas.local.children import Process
from barnabas.local.errors import ClusterError
from barnabas.local.forks import ForkedProcess
from barnabas.local.pausing import pause
from barnabas.local.ports import BrokerPorts

ROUNDS = 20
BUSY = """
import hashlib, os, sys, threading

def compute():
    while True:
        hashlib.sha256(bytes(1 << 20)).digest()

for _ in range(8):
    threading.Thread(target=compute, daemon=True).start()
print(os.getpid(), flush=True)
for line in sys.stdin:
    print("still here", flush=True)
"""
PARENT = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, '-c', sys.argv[1]]))"


@pytest.fixture
def busy():
    with subprocess.Popen(
        [sys.executable, "-c", BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        process.stdout.readline()
        yield process
        process.kill()


@pytest.fixture
def busy_grandchild():
    with subprocess.Popen(
        [sys.executable, "-c", PARENT, BUSY], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as parent:
        pid = int(parent.stdout.readline())
        yield ForkedProcess(pid)
        os.kill(pid, signal.SIGKILL)


class Starter:
    """A stand-in for ``Children`` whose only process runs already."""

    def __init__(self, process: Process) -> None:
        self._process = process

    def start(self, _command: list[str], _directory: Path, _output: Path) -> Process:
        return self._process


class Unaware:
    """A process of which nobody has noticed the end, and that signals do not reach."""

    def __init__(self, pid: int) -> None:
        self.pid = pid

    def poll(self) -> int | None:
        return None

    def wait(self, timeout: float | None = None) -> int:
        raise AssertionError("nobody waits for it")

    def send_signal(self, sig: int) -> None:
        pass


def states(pid: int) -> list[str]:
    """The state of each thread."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return [(task / "stat").read_text().rpartition(") ")[2][0] for task in tasks]


needs_proc = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="no /proc tells of threads here")


@needs_proc
@pytest.mark.parametrize("fixture", ["busy", "busy_grandchild"])
def test_no_thread_runs_when_it_returns(request, fixture):
    process = request.getfixturevalue(fixture)
    for _ in range(ROUNDS):
        pause(process)
        assert set(states(process.pid)) == {"T"}
        process.send_signal(signal.SIGCONT)


@needs_proc
def test_a_broker_stands_still_too(busy, tmp_path):
    broker = BrokerProcess(BrokerId(1), tmp_path, BrokerPorts(1, 2, 3), Starter(busy))
    broker.pause()  # it does not run yet
    broker.start()
    for _ in range(ROUNDS):
        broker.pause()
        assert set(states(busy.pid)) == {"T"}
        broker.signal(signal.SIGCONT)


def test_paused_twice_it_goes_on_after_one_sigcont(busy):
    pause(busy)
    pause(busy)
    busy.send_signal(signal.SIGCONT)
    busy.stdin.write("are you there?\n")
    busy.stdin.flush()
    assert busy.stdout.readline() == "still here\n"


def test_the_end_of_a_paused_process_is_known(busy):
    pause(busy)
    busy.kill()
    assert busy.wait(60) == -signal.SIGKILL
    pause(busy)  # there is nothing to wait for
    assert busy.poll() == -signal.SIGKILL


@needs_proc
def test_an_end_that_nobody_has_noticed_ends_the_wait():
    process = subprocess.Popen([sys.executable, "-c", ""])
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    pause(Unaware(process.pid))
    assert process.wait(60) == 0
    pause(Unaware(process.pid))


@needs_proc
def test_a_process_that_does_not_stop_is_an_error(monkeypatch):
    monkeypatch.setattr(pausing, "_STOPS_WITHIN_S", 0.0)
    pid = os.getpid()
    with pytest.raises(ClusterError, match=rf"^process {pid} did not stop within 0 s of SIGSTOP: .*\bR\b"):
        pause(Unaware(pid))
