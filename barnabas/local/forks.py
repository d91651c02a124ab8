"""Brokers that are forked from one process with their imports done (``barnabas.broker.preloaded``).

This side speaks to that process through its standard streams, and offers each broker as ``Children`` does.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from pathlib import Path

from barnabas.local.children import Children, Process

_BROKER = [sys.executable, "-P", "-m", "barnabas.broker"]
_STARTS_WITHIN_S = 60.0


class ForkedProcess:
    """A broker that was forked.

    Attributes:
        pid: The process id.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self._status: int | None = None
        self._ended = threading.Event()

    def ended(self, status: int) -> None:
        """Note the exit status."""
        self._status = status
        self._ended.set()

    def poll(self) -> int | None:
        """Return the exit status (negative: the signal); None while the process runs."""
        return self._status

    def wait(self, timeout: float | None = None) -> int:
        """Wait for the end and return the exit status.

        Raises:
            subprocess.TimeoutExpired: The process runs longer than ``timeout`` seconds.
        """
        self._ended.wait(timeout)
        if self._status is None:
            raise subprocess.TimeoutExpired(f"broker process {self.pid}", timeout or 0.0)
        return self._status

    def send_signal(self, sig: int) -> None:
        """Send a signal, if the process runs."""
        if self._status is None:
            try:
                os.kill(self.pid, sig)
            except ProcessLookupError:
                self._ended.wait(1.0)  # the process has just ended, and the report is on its way


class _Server:
    """The process that forks, and its brokers.

    Args:
        process: The process.
    """

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._changed = threading.Condition()
        self._started: list[ForkedProcess] = []
        self._running: dict[int, ForkedProcess] = {}
        self._is_over = False
        self._reader = threading.Thread(target=self._read, name="reader-of-forks", daemon=True)
        self._reader.start()

    @property
    def is_over(self) -> bool:
        """Return whether the process has ended."""
        return self._is_over

    def fork(self, request: Mapping[str, object]) -> ForkedProcess | None:
        """Start a broker; None if the process does not answer."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request).encode() + b"\n")
            self._process.stdin.flush()
        except OSError:
            return None
        deadline = time.monotonic() + _STARTS_WITHIN_S
        with self._changed:
            while not self._started and not self._is_over and time.monotonic() < deadline:
                self._changed.wait(1.0)
            return self._started.pop() if self._started else None

    def close(self) -> None:
        """End the process, which kills the brokers that still run."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):  # a request that the process never read
                    stream.close()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            said = json.loads(line)
            with self._changed:
                if "started" in said:
                    self._running[said["started"]] = ForkedProcess(said["started"])
                    self._started.append(self._running[said["started"]])
                elif "ended" in said:
                    self._running.pop(said["ended"]).ended(said["status"])
                self._changed.notify_all()
        with self._changed:
            self._is_over = True
            for process in self._running.values():
                process.ended(-signal.SIGKILL)
            self._changed.notify_all()


class Forks(Children):
    """A starter of processes that forks brokers from one that has their imports done.

    That process is started when it is first needed, and again if it has ended, which ends its brokers, too.
    Every other command is started as by ``Children``.

    Args:
        directory: The folder for the output of that process, which must exist when it is started.
    """

    def __init__(self, directory: Path) -> None:
        super().__init__()
        self._console = directory / "preloaded.log"
        self._server: _Server | None = None
        self._one_at_a_time = threading.Lock()

    def warm(self) -> None:
        """Start the process that forks, unless it runs, without waiting for its imports."""
        if self._server is not None and self._server.is_over:
            self._server.close()
            self._server = None
        if self._server is None:
            self._server = _Server(self._thread.submit(self._launch).result())

    def start(self, command: list[str], directory: Path, output: Path) -> Process:
        """Start a process, as ``Children.start`` does.

        Raises:
            OSError: The process from which brokers are forked does not answer.
        """
        program, arguments = command[: len(_BROKER)], command[len(_BROKER) :]
        if program != _BROKER:
            return super().start(command, directory, output)
        request = {"arguments": arguments, "directory": str(directory), "output": str(output)}
        with self._one_at_a_time:
            self.warm()
            assert self._server is not None
            process = self._server.fork(request)
        if process is None:
            raise OSError(f"the process that forks brokers does not answer; see {self._console}")
        return process

    def close(self) -> None:
        """End the process that forks, which kills the brokers that still run."""
        if self._server is not None:
            self._server.close()
        super().close()

    def _launch(self) -> subprocess.Popen[bytes]:
        with self._console.open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "barnabas.broker.preloaded", str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                start_new_session=True,
            )
