"""Child processes that end when their parent does, however that happens."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_LAUNCHER = """
import ctypes, os, signal, sys
PR_SET_PDEATHSIG = 1
if sys.platform == "linux":
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(sys.argv[1]):
        sys.exit("the parent process is gone")
os.execv(sys.argv[2], sys.argv[2:])
"""
"""Asks Linux to kill it with its parent and becomes the command (``preexec_fn`` is unsafe with threads)."""


class Children:
    """Starts processes from one thread that lives as long as they may.

    Linux ties a child to the *thread* that started it, so none of them is started by a thread that a test or
    a tool may end sooner. They run in process sessions of their own: Ctrl-C in the terminal reaches the
    parent alone.
    """

    def __init__(self) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="parent-of-processes")

    def start(self, command: list[str], directory: Path, output: Path) -> subprocess.Popen[bytes]:
        """Start a process.

        Args:
            command: Its first part is the path of a program.
            directory: The working directory.
            output: What it prints is appended to this file.
        """
        return self._thread.submit(_start, command, directory, output).result()

    def close(self) -> None:
        """End the thread; on Linux whatever still runs is killed."""
        self._thread.shutdown()


def tied_to_parent(command: list[str]) -> list[str]:
    """``command`` (its first part is the path of a program), killed on Linux when its parent thread ends."""
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
