"""Producers that write as fast as they can with acks=all, each in a process of its own.

``python -m barnabas.bench.clients.producers BOOTSTRAP SIZE`` runs one producer. The first line of its
standard input is a JSON object of further settings of the client, which may contain a password. Each later
line is a number: the producer writes that many records, and prints a line when all of them have an outcome.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from types import MappingProxyType, TracebackType
from typing import Any, Self

import confluent_kafka
from confluent_kafka.admin import AdminClient, OffsetSpec

TOPIC = "produce"
PARTITIONS = 3
"""The partitions of the topic, so that each of three brokers leads one."""

LINGER_MS = 20
"""The linger.ms of the producers; 10 to 100 ms are recommended for throughput."""

QUEUE_RECORDS = 1_000_000
FLUSH_TIMEOUT_S = 120.0
METADATA_TIMEOUT_S = 10.0
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})


class LostRecordsError(Exception):
    """An error if fewer records are committed than were written; the text has the numbers."""


def write(bootstrap: str, records: int, size: int, settings: Mapping[str, str] = NO_SETTINGS) -> float:
    """Write records of ``size`` bytes, wait for all outcomes, and return the seconds.

    Delivery callbacks would cost the client a third more, so there are none; ``committed`` shows whether a
    record failed.

    Raises:
        TimeoutError: Some had no outcome after ``FLUSH_TIMEOUT_S``.
    """
    producer = confluent_kafka.Producer(
        {
            **settings,
            "bootstrap.servers": bootstrap,
            "acks": "all",
            "linger.ms": LINGER_MS,
            "queue.buffering.max.messages": QUEUE_RECORDS,
            "log_level": 2,
        }
    )
    value = os.urandom(size)
    start = time.perf_counter()
    for number in range(records):
        while True:
            try:
                producer.produce(TOPIC, value, partition=number % PARTITIONS)
            except BufferError:
                producer.poll(0.01)
            else:
                break
    left = producer.flush(FLUSH_TIMEOUT_S)
    if left:
        raise TimeoutError(f"{left} of {records} records had no outcome after {FLUSH_TIMEOUT_S:g} s")
    return time.perf_counter() - start


def committed(bootstrap: str, settings: Mapping[str, str] = NO_SETTINGS) -> int:
    """Return the number of records below the high watermarks of all partitions.

    An admin client asks for them. A consumer needs a ``group.id`` and looks up its coordinator, for which the
    brokers would create the offsets topic while their CPU time is measured.

    Raises:
        confluent_kafka.KafkaException: A leader does not answer.
    """
    admin = AdminClient({**settings, "bootstrap.servers": bootstrap, "log_level": 2})
    partitions = [confluent_kafka.TopicPartition(TOPIC, number) for number in range(PARTITIONS)]
    specs: Any = OffsetSpec  # the methods have no annotations
    ends, starts = (
        sum(found.result(METADATA_TIMEOUT_S).offset for found in admin.list_offsets(asked).values())
        for asked in (dict.fromkeys(partitions, spec) for spec in (specs.latest(), specs.earliest()))
    )
    return int(ends - starts)


class Producers:
    """A number of producer processes.

    Attributes:
        pids: The process ids, by ``client <number>``.

    Args:
        bootstrap: ``bootstrap.servers`` of the cluster.
        count: The number of producers.
        size: The bytes of a record.
        settings: Further settings of librdkafka, such as a login.
    """

    def __init__(
        self, bootstrap: str, count: int, size: int, settings: Mapping[str, str] = NO_SETTINGS
    ) -> None:
        self._bootstrap = bootstrap
        self._settings = dict(settings)
        command = [sys.executable, "-m", __name__, bootstrap, str(size)]
        self._running = [
            subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
            for _ in range(count)
        ]
        for process in self._running:
            print(json.dumps(self._settings), file=process.stdin, flush=True)
        self.pids = {f"client {number}": process.pid for number, process in enumerate(self._running, 1)}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End the processes and wait for them."""
        for process in self._running:
            process.communicate()

    def warm_up(self, records: int) -> float:
        """Let all producers write ``records`` records together, and return the seconds until all outcomes."""
        shares = [len(range(number, records, len(self._running))) for number in range(len(self._running))]
        start = time.perf_counter()
        for process, share in zip(self._running, shares, strict=True):
            print(share, file=process.stdin, flush=True)
        for process in self._running:
            if process.stdout is not None:
                process.stdout.readline()
        return time.perf_counter() - start

    def write(self, records: int) -> float:
        """Write as ``warm_up`` does, and check that all records are committed.

        All brokers know the topic by now.

        Raises:
            LostRecordsError: Some are not committed.
        """
        before = committed(self._bootstrap, self._settings)
        seconds = self.warm_up(records)
        found = committed(self._bootstrap, self._settings) - before
        if found != records:
            raise LostRecordsError(f"{found} of {records} records are committed")
        return seconds


def main(bootstrap: str, size: str) -> None:
    """Write for each line of standard input after the first."""
    settings = json.loads(sys.stdin.readline())
    for line in sys.stdin:
        print(write(bootstrap, int(line), int(size), settings), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
