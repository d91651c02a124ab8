"""Pausing a process so that none of its threads runs any more when the call returns.

``kill(2)`` with SIGSTOP returns before the process has stopped: each thread stops when the kernel next lets
it run, and may answer a request until then.
"""

from __future__ import annotations

import contextlib
import signal
import time
from pathlib import Path

from barnabas.local.children import Process
from barnabas.local.errors import ClusterError

_STOPS_WITHIN_S = 60.0
"""The longest wait for the threads; one that waits for a disk stops only when the disk answers."""

_POLL_S = 0.001

_STILL = frozenset("TtZX")
"""The states in ``/proc`` of a thread that does not run: stopped, stopped by a debugger, ended (two)."""


def pause(process: Process) -> None:
    """Send SIGSTOP to a process, and wait until all its threads have stopped or it has ended.

    The states of the threads are polled. ``os.waitid`` would report the stop of a child only, which a forked
    broker is not, and would wait for ever if another thread sent SIGCONT in between. Where there is no
    ``/proc``, nothing is awaited.

    Raises:
        ClusterError: A thread did not stop in time.
    """
    process.send_signal(signal.SIGSTOP)
    deadline = time.monotonic() + _STOPS_WITHIN_S
    while process.poll() is None and (running := _running(process.pid)):
        if time.monotonic() > deadline:
            raise ClusterError(
                f"process {process.pid} did not stop within {_STOPS_WITHIN_S:g} s of SIGSTOP: "
                f"its threads are in state {', '.join(sorted(running))}"
            )
        time.sleep(_POLL_S)


def _running(pid: int) -> set[str]:
    """Return the states of the threads that have not stopped; empty if the process is gone."""
    found: set[str] = set()
    with contextlib.suppress(OSError):  # the process is gone
        for task in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):  # the thread is gone
                # The state follows the name of the program, which is in parentheses and may contain some.
                found.add((task / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2][1])
    return found - _STILL
