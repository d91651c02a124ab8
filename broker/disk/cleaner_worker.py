"""The process that compacts: ``python -m barnabas.broker.disk.cleaner_worker``, started by the broker.

Compaction looks at every record, and in a thread of the broker that would take the interpreter from the event
loop for milliseconds at a time. Messages are lines of JSON: the broker sends a job, the process answers with
each step of it, and waits for a line before the next step. So the broker sets the pace, and when it dies, the
process ends at its next step.
"""

from __future__ import annotations

import errno
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from barnabas.broker.core.records import CorruptRecordsError
from barnabas.broker.disk.cleaning import Cleaned, NewSegment, Progress, Step, clean
from barnabas.broker.disk.cleaning_job import CleaningJob, CleaningStats
from barnabas.broker.disk.errors import NO_DESCRIPTOR, CorruptLogError
from barnabas.cluster.model.ids import Offset


class CleaningFailedError(Exception):
    """An error of a log that cannot be compacted until it changes.

    Attributes:
        corrupt: The damaged batch, if that is the reason.
    """

    def __init__(self, message: str, corrupt: CorruptLogError | None = None) -> None:
        super().__init__(message)
        self.corrupt = corrupt


class CleanerUnavailableError(Exception):
    """An error of the process that compacts. The log and its disk are sound, and a later try may work.

    It did not start, was killed, is silent, or lacks memory or descriptors.
    """


NO_RESOURCE = NO_DESCRIPTOR | {errno.ENOMEM, errno.EAGAIN}
"""The error numbers of system calls that a process gets for want of descriptors or memory."""


def encode(step: Step) -> bytes:
    """Return the line that reports a step."""
    match step:
        case Progress():
            return _line({"moved": step.bytes_moved})
        case NewSegment():
            return _line({"segment": step.base_offset, "replaced": step.replaced})
        case Cleaned():
            return _line({"cleaned": step.next_dirty_offset, "stats": asdict(step.stats)})


def decode(line: bytes) -> Step:
    """Return the step that a line reports.

    Raises:
        CleaningFailedError: The line says that the log cannot be compacted.
        CleanerUnavailableError: The line says that the process has no resources for it.
        OSError: The line says that the disk refused.
    """
    match json.loads(line):
        case {"moved": moved}:
            return Progress(moved)
        case {"segment": base_offset, "replaced": replaced}:
            return NewSegment(Offset(base_offset), tuple(replaced))
        case {"cleaned": next_dirty_offset, "stats": stats}:
            return Cleaned(Offset(next_dirty_offset), CleaningStats(**stats))
        case {"errno": number, "text": text}:
            raise OSError(number, text)
        case {"failed": text, "path": path, "position": position, "next_offset": next_offset}:
            corrupt = CorruptLogError(Path(path), position, Offset(next_offset), text)
            raise CleaningFailedError(text, corrupt)
        case {"failed": text}:
            raise CleaningFailedError(text)
        case {"unavailable": text}:
            raise CleanerUnavailableError(text)
    raise CleanerUnavailableError(f"{line!r} is no step of a cleaning")


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Do the jobs from the standard input one after the other, until it ends."""

    def send(line: bytes) -> None:
        answers.write(line)
        answers.flush()

    while line := requests.readline():
        steps = clean(CleaningJob.of(json.loads(line)))
        try:
            for step in steps:
                send(encode(step))
                if not isinstance(step, Cleaned) and not requests.readline():
                    return
        except MemoryError as error:
            send(_line({"unavailable": str(error)}))
        except OSError as error:
            # Only files of the log are touched here: what is no want of this process is an error of the disk.
            is_want = error.errno in NO_RESOURCE
            send(
                _line({"unavailable": str(error)} if is_want else {"errno": error.errno, "text": str(error)})
            )
        except CorruptLogError as error:
            where = {"path": str(error.path), "position": error.position, "next_offset": error.next_offset}
            send(_line({"failed": str(error), **where}))
        except CorruptRecordsError as error:
            send(_line({"failed": str(error)}))


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message).encode() + b"\n"


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
