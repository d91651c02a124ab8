"""Clients that ask a broker for more than a well-meaning one would, in frames made by hand, and a bystander.

A client library would need more time for a request than the broker does.
"""

from __future__ import annotations

import struct
import threading
import time
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Self

from crc32c import crc32c

from barnabas.bench.clients.connection import connect, receive
from barnabas.broker.core.records.record_batch import CRC_START, HEADER, MAGIC, NO_PRODUCER_ID, NO_SEQUENCE
from barnabas.broker.wire.apis import ApiKey

PATIENCE_S = 120.0

WINDOW = 200
"""The requests that a connection of `flood` has sent without an answer."""

_SIZE = struct.Struct(">i")
_RECORD = bytes.fromhex("1000000001046869 00")
_NO_CLIENT_ID = -1
_LATEST_MS = 2**31 - 1


def _frame(key: ApiKey, version: int, body: bytes) -> bytes:
    head = struct.pack(">hhih", key, version, 0, _NO_CLIENT_ID)
    return _SIZE.pack(len(head) + len(body)) + head + body


def _text(value: str) -> bytes:
    return struct.pack(">h", len(value)) + value.encode()


def batch(producer_id: int = NO_PRODUCER_ID, sequence: int = NO_SEQUENCE) -> bytes:
    """Return a batch of one record, of a producer in its first epoch if an id is given."""
    epoch = -1 if producer_id == NO_PRODUCER_ID else 0
    now = int(time.time() * 1000)
    length = HEADER.size - 12 + len(_RECORD)
    fields = 0, 0, now, now, producer_id, epoch, sequence, 1
    plain = HEADER.pack(0, length, -1, MAGIC, 0, *fields) + _RECORD
    return HEADER.pack(0, length, -1, MAGIC, crc32c(plain[CRC_START:]), *fields) + _RECORD


def produce(topic: str, records: bytes, partition: int = 0) -> bytes:
    """Return a Produce request with acks=all."""
    data = struct.pack(">ii", 1, partition) + _SIZE.pack(len(records)) + records
    return _frame(ApiKey.PRODUCE, 3, struct.pack(">hhii", -1, -1, 30_000, 1) + _text(topic) + data)


def init_producer_id() -> bytes:
    """Return an InitProducerId request of an idempotent producer."""
    return _frame(ApiKey.INIT_PRODUCER_ID, 0, struct.pack(">hi", -1, 60_000))


def parked_fetch(topic: str, partitions: int) -> bytes:
    """Return a Fetch request at the end of empty partitions that waits for days."""
    of_topic = b"".join(struct.pack(">iqi", number, 0, 1_000) for number in range(partitions))
    limits = struct.pack(">iiiib", -1, _LATEST_MS, 1_000_000, 1_000_000, 0)
    return _frame(ApiKey.FETCH, 4, limits + _SIZE.pack(1) + _text(topic) + _SIZE.pack(partitions) + of_topic)


def flood(address: str, requests: Iterable[bytes], connections: int) -> int:
    """Send requests over some connections at a time, ``WINDOW`` ahead of the answers; return their number."""
    opened = [connect(address, PATIENCE_S) for _ in range(connections)]
    shared = iter(requests)
    count = 0
    while windows := [list(islice(shared, WINDOW)) for _ in opened]:
        for connection, window in zip(opened, windows, strict=True):
            connection.sendall(b"".join(window))
        for connection, window in zip(opened, windows, strict=True):
            for _ in window:
                receive(connection)
            count += len(window)
        if not windows[-1]:
            break
    for connection in opened:
        connection.close()
    return count


class Bystander:
    """A thread that sends a request every few milliseconds, and notes how long each answer took.

    Args:
        address: The broker's ``host:port``.
        request: The request, with its length.
    """

    PAUSE_S = 0.005

    def __init__(self, address: str, request: bytes) -> None:
        self._connection = connect(address, PATIENCE_S)
        self._request = request
        self._waits_s: list[float] = []
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._ask, name="bystander", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(PATIENCE_S)
        self._connection.close()

    def _ask(self) -> None:
        while not self._stopped.wait(self.PAUSE_S):
            asked = time.perf_counter()
            self._connection.sendall(self._request)
            receive(self._connection)
            self._waits_s.append(time.perf_counter() - asked)

    def waits_ms(self) -> list[float]:
        """Return the waits since the last call, in milliseconds."""
        waits, self._waits_s = self._waits_s, []
        return [1000 * each for each in waits]


def produced_by(ids: range, topic: str, batches: int) -> Iterator[bytes]:
    """Yield Produce requests of so many batches of each producer id."""
    for sequence in range(batches):
        for producer_id in ids:
            yield produce(topic, batch(producer_id, sequence))
