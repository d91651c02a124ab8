"""A consumer that reads while faults are injected, and asks for the ends of partitions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import cycle

from barnabas.cluster.model.ids import TopicPartition
from barnabas.local.waiting import wait_until
from barnabas.workload.client_thread import ClientThread
from barnabas.workload.clients import Reader
from barnabas.workload.history import History, Looked, Read

LOOK_EVERY_S = 0.25


class Tailer:
    """A thread that reads partitions from their first record on until it is stopped.

    Args:
        reader: The client, which is closed at the end.
        partitions: The partitions to read.
        history: The history to which records are appended.
        process: The reader's name in the history.
        looks: Whether to ask for the ends of partitions, one after the other.
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
        self._history = history
        self._process = process
        self._looks = looks
        self._last_look = history.now()
        self._positions = dict.fromkeys(partitions, 0)
        self._turns = cycle(tuple(self._positions))
        self._thread = ClientThread(process, self._read)

    def start(self) -> None:
        """Start reading."""
        self._thread.start()

    def wait_for(self, ends: Mapping[TopicPartition, int], timeout_s: float) -> None:
        """Wait until the thread has read up to these offsets, in the partitions that it reads.

        If the thread ended early, return at once; ``stop`` raises the reason.

        Raises:
            TimeoutError: The time is over; the message holds the actual and the wanted offsets.
        """

        def behind() -> dict[str, tuple[int, int]]:
            return {str(tp): (at, ends[tp]) for tp, at in self._positions.items() if at < ends.get(tp, 0)}

        def is_there() -> bool:
            return self._thread.has_ended or not behind()

        wait_until(is_there, f"{self._process} at the end", timeout_s, behind)

    def halt(self) -> None:
        """Stop reading without waiting."""
        self._thread.halt()

    def stop(self) -> None:
        """Stop reading and wait for the thread.

        Raises:
            Exception: The exception that ended the thread early.
        """
        self._thread.join()
        self._reader.close()
        self._thread.check()

    def _read(self) -> None:
        while not self._thread.is_stopping:
            for tp, offset, value in self._reader.poll():
                now = self._history.now()
                self._history.add(Read(now, self._process, tp, offset, value.decode(errors="replace")))
                self._positions[tp] = offset + 1
            if self._looks and self._history.now() - self._last_look >= LOOK_EVERY_S:
                self._look(next(self._turns))

    def _look(self, tp: TopicPartition) -> None:
        self._last_look = asked = self._history.now()
        end = self._reader.end(tp)
        if end is not None:
            self._history.add(Looked(self._history.now(), self._process, tp, asked, end))
