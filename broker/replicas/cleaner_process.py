"""A process beside the broker that does the file work of compactions, one log at a time."""

from __future__ import annotations

import asyncio
import json
import sys
from asyncio.subprocess import PIPE, Process
from collections.abc import AsyncIterator
from dataclasses import asdict
from typing import Protocol

from barnabas.broker.disk import cleaner_worker
from barnabas.broker.disk.cleaner_worker import CleaningFailedError
from barnabas.broker.disk.cleaning import Cleaned, Step
from barnabas.broker.disk.cleaning_job import CleaningJob

MAX_LINE_BYTES = 64 * 1024 * 1024
"""The longest answer: it may name all segments of a log."""

_GO_ON = b"\n"


class Cleaner(Protocol):
    """The file work of compactions, wherever it runs."""

    def steps(self, job: CleaningJob) -> AsyncIterator[Step]:
        """Do the job; the work waits until the next step is asked for.

        Raises:
            CleaningFailedError: The log cannot be compacted.
            OSError: The disk refused, or the log has gone meanwhile.
        """
        ...

    async def close(self) -> None:
        """Stop unfinished work and release all memory."""
        ...


class CleanerProcess:
    """The cleaner process, which the first job starts, and another job starts again after ``close``.

    Unlike a thread, it does not take the interpreter from the event loop, and its memory returns to the
    system as soon as there is nothing to compact.
    """

    def __init__(self) -> None:
        self._process: Process | None = None

    async def steps(self, job: CleaningJob) -> AsyncIterator[Step]:
        """Do a job; see ``Cleaner.steps``."""
        if self._process is None:
            command = (sys.executable, "-P", "-m", cleaner_worker.__name__)
            # A session of its own: an interrupt from the terminal is the broker's to handle.
            self._process = await asyncio.create_subprocess_exec(
                *command, stdin=PIPE, stdout=PIPE, limit=MAX_LINE_BYTES, start_new_session=True
            )
        requests, answers = self._process.stdin, self._process.stdout
        assert requests is not None
        assert answers is not None
        line = json.dumps(asdict(job)).encode() + b"\n"
        while True:
            try:
                requests.write(line)
                await requests.drain()
                answer = await answers.readuntil()
            except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
                raise CleaningFailedError("the process that compacts has ended") from error
            step = cleaner_worker.decode(answer)
            yield step
            if isinstance(step, Cleaned):
                return
            line = _GO_ON

    async def close(self) -> None:
        """Kill the process if it runs; nothing that it knows is lost."""
        process, self._process = self._process, None
        if process is not None:
            if process.returncode is None:
                process.kill()
            await process.wait()
