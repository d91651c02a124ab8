"""A process beside the broker that does the file work of compactions, one log at a time.

The broker starts it by ``posix_spawn``: nothing of the broker runs between fork and exec, where a lock or a
handler could hang with the listeners' descriptors, and every descriptor of the broker closes on exec.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import signal
import socket
import sys
from collections.abc import AsyncIterator

from barnabas.broker.cleaning import worker
from barnabas.broker.cleaning.job import CleaningJob
from barnabas.broker.cleaning.rewrite import Cleaned, Step
from barnabas.broker.cleaning.worker import LENGTH_BYTES, CleanerUnavailableError

STEP_TIMEOUT_S = 300.0
"""The time in seconds that the process has for a step, the longest of which is the flush of a segment."""


class CleanerProcess:
    """The cleaner process, which the first job starts, and another job starts again after ``close``.

    Unlike a thread, it does not take the interpreter from the event loop, and its memory returns to the
    system as soon as there is nothing to compact.

    Attributes:
        pid: The id of the process; None while it does not run.
    """

    def __init__(self) -> None:
        self.pid: int | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def steps(self, job: CleaningJob) -> AsyncIterator[Step]:
        """Do the job; the work waits until the next step is asked for.

        Raises:
            CorruptLogError: A batch is damaged.
            CorruptRecordsError: The records of a batch cannot be read.
            CleanerUnavailableError: The work cannot be done now, which is no fault of the log or the disk.
            OSError: The disk refused, or the log has gone meanwhile.
        """
        request = pickle.dumps(job)
        while True:
            try:
                async with asyncio.timeout(STEP_TIMEOUT_S):
                    answer = await self._ask(request)
            except TimeoutError as error:
                raise CleanerUnavailableError(f"no answer in {STEP_TIMEOUT_S:g} s") from error
            except (OSError, asyncio.IncompleteReadError) as error:
                raise CleanerUnavailableError(str(error)) from error
            if isinstance(answer, Exception):
                raise answer
            yield answer
            if isinstance(answer, Cleaned):
                return
            request = b"\n"

    async def _ask(self, request: bytes) -> Step | Exception:
        if self._streams is None:
            ours, theirs = socket.socketpair()
            with theirs:
                self.pid = _spawn(theirs.fileno())
            self._streams = await asyncio.open_unix_connection(sock=ours)
        answers, requests = self._streams
        requests.write(request)
        await requests.drain()
        length = int.from_bytes(await answers.readexactly(LENGTH_BYTES), "big")
        answer: Step | Exception = pickle.loads(await answers.readexactly(length))
        return answer

    async def close(self) -> None:
        """Kill the process if it runs; nothing that it knows is lost."""
        pid, self.pid = self.pid, None
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].close()
        if pid is not None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
            await asyncio.to_thread(_reap, pid)


def _spawn(descriptor: int) -> int:
    """Start the process with a descriptor for its standard input and output; return its id.

    It has a session of its own: an interrupt from the terminal is the broker's to handle.
    """
    command = (sys.executable, "-P", "-m", worker.__name__)
    actions = [(os.POSIX_SPAWN_DUP2, descriptor, number) for number in (0, 1)]
    return os.posix_spawn(sys.executable, command, os.environ, file_actions=actions, setsid=True)


def _reap(pid: int) -> None:
    """Wait for the end of a child; the system has done so already if the broker's parent ignores SIGCHLD."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, 0)
