"""The process that compacts: ``python -m barnabas.broker.cleaning.worker``, started by the broker.

Compaction looks at every record, and in a thread of the broker that would take the interpreter from the event
loop for milliseconds at a time. The broker sends a job, the process answers with each step of it, and waits
for a byte before the next step. So the broker sets the pace, and when it dies, the process ends at its next
step.
"""

from __future__ import annotations

import errno
import pickle
import sys
from typing import IO

from barnabas.broker.cleaning.rewrite import Cleaned, Step, clean
from barnabas.broker.core.records.records import CorruptRecordsError
from barnabas.broker.disk.errors import NO_DESCRIPTOR, CorruptLogError

NO_RESOURCE = NO_DESCRIPTOR | {errno.ENOMEM, errno.EAGAIN}
"""The error numbers of system calls that a process gets for want of descriptors or memory."""

LENGTH_BYTES = 4
"""The bytes of the length before each answer, big-endian."""


class CleanerUnavailableError(Exception):
    """An error of the process that compacts. The log and its disk are sound, and a later try may work.

    It did not start, was killed, is silent, or lacks memory or descriptors.
    """


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Do the jobs from the standard input one after the other, until it ends."""

    def send(answer: Step | Exception) -> None:
        data = pickle.dumps(answer)
        answers.write(len(data).to_bytes(LENGTH_BYTES, "big") + data)
        answers.flush()

    while True:
        try:
            job = pickle.load(requests)
        except EOFError:
            return
        try:
            for step in clean(job):
                send(step)
                if not isinstance(step, Cleaned) and not requests.read(1):
                    return
        except MemoryError as error:
            send(CleanerUnavailableError(str(error)))
        except OSError as error:
            # Only files of the log are touched here: what is no want of this process is an error of the disk.
            send(CleanerUnavailableError(str(error)) if error.errno in NO_RESOURCE else error)
        except (CorruptLogError, CorruptRecordsError) as error:
            send(error)


if __name__ == "__main__":
    serve(sys.stdin.buffer, sys.stdout.buffer)
