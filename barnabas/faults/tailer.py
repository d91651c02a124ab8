"""A consumer that reads along while faults happen, and asks now and then where partitions end."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from itertools import cycle

from barnabas.faults.clients import Reader
from barnabas.faults.history import History, Looked, Read
from cluster.model.ids import TopicPartition

LOOK_EVERY_S = 0.25


class Tailer:
    """Reads partitions from their first record on, in a thread, until it is stopped.

    Args:
        reader: The client; closed at the end.
        partitions: Those that the reader reads.
        history: Where what is read is noted.
        process: The reader's name in the history.
        looks: Whether it asks where partitions end, one after the other.
    """

    def __init__(
        self,
        reader: Reader,
        partitions: Iterable[TopicPartition],
        history: History,
        *,
        process: str,
        looks: bool,
    ) -> None:
        self._reader = reader
        self._turns = cycle(tuple(partitions))
        self._history = history
        self._process = process
        self._looks = looks
        self._last_look = history.now()
        self._stopping = threading.Event()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=process)
        self._reading: Future[None] = Future()

    def start(self) -> None:
        """Begin to read."""
        self._reading = self._thread.submit(self._read)

    def halt(self) -> None:
        """Read no more, without waiting for anything."""
        self._stopping.set()

    def stop(self) -> None:
        """Read no more.

        Raises:
            Exception: Whatever ended the reading early.
        """
        self._stopping.set()
        self._thread.shutdown()
        self._reader.close()
        self._reading.result(0)

    def _read(self) -> None:
        while not self._stopping.is_set():
            for tp, offset, value in self._reader.poll():
                now = self._history.now()
                self._history.add(Read(now, self._process, tp, offset, value.decode(errors="replace")))
            if self._looks and self._history.now() - self._last_look >= LOOK_EVERY_S:
                self._look(next(self._turns))

    def _look(self, tp: TopicPartition) -> None:
        self._last_look = asked = self._history.now()
        end = self._reader.end(tp)
        if end is not None:
            self._history.add(Looked(self._history.now(), self._process, tp, asked, end))
