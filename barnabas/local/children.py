"""Child processes that end with their parent, however that ends."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

_LAUNCHER = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent process is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""A program that asks Linux to kill it with its parent, then execs the command (``preexec_fn`` is unsafe)."""


class Process(Protocol):
    """A process that was started, such as ``subprocess.Popen``."""

    @property
    def pid(self) -> int:
        """The process id."""
        ...

    def poll(self) -> int | None:
        """Return the exit status (negative: the signal); None while the process runs."""
        ...

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status; raise ``subprocess.TimeoutExpired`` if it is late."""
        ...

    def send_signal(self, sig: int) -> None:
        """Send a signal, if the process runs."""
        ...


class Children:
    """A starter of processes, with one thread that lives as long as they.

    Linux ties a child to the *thread* that started it, so a thread of a test or tool that ends early must not
    start one. Children run in their own process sessions, so that Ctrl-C in the terminal reaches only the
    parent.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parent-of-processes")

    def start(self, command: list[str], directory: Path, output: Path) -> Process:
        """Start a process.

        Args:
            command: The command, of which the first part is the path of a program.
            directory: The working directory.
            output: The file to which its output is appended.
        """
        return self._thread.submit(_start, command, directory, output).result()

    def close(self) -> None:
        """End the thread, which on Linux kills the processes that still run."""
        self._thread.shutdown()


def tied_to_parent(command: list[str]) -> list[str]:
    """Return ``command`` wrapped so that Linux kills it when its parent thread ends."""
    return [sys.executable, "-I", "-S", "-c", _LAUNCHER, str(os.getpid()), *command]


def _start(command: list[str], directory: Path, output: Path) -> subprocess.Popen[bytes]:
    with output.open("ab") as log:
        return subprocess.Popen(
            tied_to_parent(command),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=directory,
            start_new_session=True,
        )
