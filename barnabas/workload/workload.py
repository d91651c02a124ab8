"""Producers that write unique values, and the function that reads everything back.

A workload sends at a fixed rate, and at most ``OUTSTANDING_MAX`` records to a partition that does not answer,
so that a stalled partition neither fills the client's queue nor slows others.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping
from types import TracebackType
from typing import Self

from barnabas.cluster.model.ids import TopicPartition
from barnabas.workload.client_thread import ClientThread
from barnabas.workload.clients import Delivery, Producer, Reader
from barnabas.workload.history import Acked, Created, Failed, History, Read, Sent, Tail, Unknown

REPLICATION_FACTOR = 3
SAFE: Mapping[str, str] = {"min.insync.replicas": "2"}
"""Settings with which records acknowledged with acks=all survive the loss of any one broker."""

OUTSTANDING_MAX = 2_000
"""The most records per partition with an outstanding outcome."""

TICK_S = 0.01
"""The seconds between two sends of a share of the records."""

INTERRUPTED_STOP_S = 0.5
"""The seconds for which Ctrl-C waits for outcomes, which may never come while the cluster is broken."""

SETTLE_S = 10.0
"""The seconds for which a reader at the end of all partitions waits for missing acknowledged records."""


class Workload:
    """A thread with one producer that writes unique values round-robin to partitions until it is stopped.

    Args:
        producer: The client, which is closed at the end.
        partitions: The partitions to write to.
        history: The history to which every attempt and outcome is appended.
        process: The producer's unique name in the history.
        rate: Records per second over all partitions.
    """

    def __init__(
        self,
        producer: Producer,
        partitions: Iterable[TopicPartition],
        history: History,
        *,
        process: str = "producer-1",
        rate: float = 2_000.0,
    ) -> None:
        self._producer = producer
        self._partitions = tuple(partitions)
        self._history = history
        self._process = process
        self._rate = rate
        self._outstanding: dict[TopicPartition, set[str]] = {tp: set() for tp in self._partitions}
        self._acked = dict.fromkeys(self._partitions, 0)
        self._acked_send_time = dict.fromkeys(self._partitions, -1.0)
        self._waiting_since: dict[TopicPartition, float] = {}
        self._progress = threading.Condition()
        self._thread = ClientThread(process, self._write)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None and not issubclass(kind, Exception):
            # A signal ends the program, so do not wait a minute for outcomes.
            self.stop(INTERRUPTED_STOP_S)
        else:
            self.stop()

    def start(self) -> None:
        """Start writing."""
        self._thread.start(self._notify)

    def halt(self) -> None:
        """Stop sending without waiting."""
        self._thread.halt()

    def stop(self, timeout_s: float = 60.0) -> None:
        """Stop sending, wait at most ``timeout_s`` seconds for outcomes, and record the others as unknown.

        Raises:
            Exception: The exception that ended the thread early.
        """
        self._thread.join()
        self._producer.close(timeout_s)
        now = self._history.now()
        for tp, values in self._outstanding.items():
            for value in sorted(values):
                error = f"no outcome {timeout_s:g} s after the last send"
                self._history.add(Unknown(now, self._process, tp, value, error))
        self._thread.check()

    @property
    def acknowledged(self) -> Mapping[TopicPartition, int]:
        """Return the number of acknowledged records of each partition so far."""
        return dict(self._acked)

    def waiting_s(self) -> Mapping[TopicPartition, float]:
        """Return the seconds for which each partition's writes have waited without an acknowledgement."""
        now = self._history.now()
        waiting = self._waiting_since.copy()
        return {tp: now - waiting[tp] if tp in waiting else 0.0 for tp in self._partitions}

    def wait_for_progress(self, timeout_s: float, partitions: Iterable[TopicPartition] = ()) -> None:
        """Wait until a record sent from now on is acknowledged on each of ``partitions`` (by default on all).

        Raises:
            TimeoutError: The time is over; the message names the partitions.
            Exception: The exception that ended the thread early.
        """
        since = self._history.now()
        wanted = tuple(partitions) or self._partitions

        def behind() -> list[TopicPartition]:
            return [tp for tp in wanted if self._acked_send_time[tp] < since]

        with self._progress:
            self._progress.wait_for(lambda: not behind() or self._thread.has_ended, timeout_s)
        if self._thread.has_ended:
            self._thread.check()
        if late := behind():
            raise TimeoutError(f"no acknowledged write within {timeout_s:g} s on {', '.join(map(str, late))}")

    def _notify(self) -> None:
        with self._progress:
            self._progress.notify_all()

    def _write(self) -> None:
        number, start = 0, time.monotonic()
        while not self._thread.is_stopping:
            due = int((time.monotonic() - start) * self._rate)
            while number < due and not self._thread.is_stopping:
                tp = self._partitions[number % len(self._partitions)]
                if len(self._outstanding[tp]) < OUTSTANDING_MAX:
                    self._send(tp, f"{self._process}:{number}")
                number += 1
            self._producer.poll()
            self._thread.pause(TICK_S)

    def _send(self, tp: TopicPartition, value: str) -> None:
        now = self._history.now()
        self._outstanding[tp].add(value)
        self._waiting_since.setdefault(tp, now)
        self._history.add(Sent(now, self._process, tp, value))
        self._producer.send(tp, value.encode(), self._outcome(tp, value, now))

    def _outcome(self, tp: TopicPartition, value: str, sent: float) -> Callable[[Delivery], None]:
        def done(delivery: Delivery) -> None:
            now = self._history.now()
            self._outstanding[tp].discard(value)
            self._waiting_since.pop(tp, None)
            if self._outstanding[tp]:
                self._waiting_since[tp] = now if delivery.error is None else sent
            if delivery.error is None:
                self._history.add(Acked(now, self._process, tp, value, delivery.offset))
                with self._progress:
                    self._acked[tp] += 1
                    self._acked_send_time[tp] = max(self._acked_send_time[tp], sent)
                    self._progress.notify_all()
            else:
                kind = Failed if delivery.certain else Unknown
                self._history.add(kind(now, self._process, tp, value, delivery.error))

        return done


def read_back(
    reader: Reader,
    partitions: Iterable[TopicPartition],
    history: History,
    *,
    process: str = "reader-1",
    timeout_s: float = 60.0,
    settle_s: float = SETTLE_S,
) -> None:
    """Read every partition from its first record to its end, and append what was read to the history.

    Reading ends when each partition was read to its high watermark and past its last acknowledged offset. It
    also ends if acknowledged records are missing ``settle_s`` seconds after all ends were reached (a new
    leader learns the high watermark late), and after ``timeout_s`` seconds. The reader is closed.
    """
    partitions = tuple(partitions)
    promised = promised_ends(history)
    deadline = time.monotonic() + timeout_s
    last_read = time.monotonic()
    ends: dict[TopicPartition, int | None] = dict.fromkeys(partitions)
    while True:
        has_read = False
        for tp, offset, value in reader.poll():
            history.add(Read(history.now(), process, tp, offset, value.decode(errors="replace")))
            has_read = True
        now = time.monotonic()
        if now > deadline:
            break
        if has_read:
            last_read = now
            continue
        ends = {tp: reader.end(tp) for tp in partitions}
        positions = {tp: reader.position(tp) for tp in partitions}
        at_end = all((end := ends[tp]) is not None and positions[tp] >= end for tp in partitions)
        kept = all(positions[tp] >= promised.get(tp, 0) for tp in partitions)
        if at_end and (kept or now - last_read > settle_s):
            break
    for tp in partitions:
        history.add(Tail(history.now(), process, tp, reader.position(tp), ends[tp]))
    reader.close()


def promised_ends(history: History) -> dict[TopicPartition, int]:
    """Return the offset after the last acknowledged one of each partition, since its topic was created."""
    promised: dict[TopicPartition, int] = {}
    for op in history.ops():
        if isinstance(op, Acked) and op.offset is not None:
            promised[op.partition] = max(promised.get(op.partition, 0), op.offset + 1)
        elif isinstance(op, Created):
            promised = {tp: end for tp, end in promised.items() if tp.topic != op.topic}
    return promised
