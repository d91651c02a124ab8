"""A client that asks every broker, every few milliseconds, which partitions it leads.

ListOffsets is answered by the leader alone, so no cache of metadata stands between. The request is of version
1, which Kafka 0.10 to 4.x serve, and plain enough to be encoded here (``ListOffsetsRequest.json``).
"""

from __future__ import annotations

import socket
import struct
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self

_LIST_OFFSETS, _VERSION = 2, 1
_CONSUMER, _EARLIEST = -1, -2
_CLIENT = b"truth"
_EVERY_S = 0.04
_TIMEOUT_S = 1.0


class Answer(NamedTuple):
    """A broker's answer to the question whether it leads a partition.

    Attributes:
        sent: When it was asked, in seconds since 1970.
        received: When it had answered, or had failed to.
        led: Whether it answered as the leader.
    """

    sent: float
    received: float
    led: bool


Answers = dict[tuple[int, str], list[Answer]]
"""The answers by broker and partition; of equal ones in a row, the first two and the last."""


@dataclass(slots=True)
class Probe:
    """The client; a context manager that asks until its end.

    Attributes:
        addresses: ``host:port`` of each broker.
        topics: The number of partitions of each topic.
        answers: What the brokers answered.
    """

    addresses: Mapping[int, str]
    topics: Mapping[str, int]
    answers: Answers = field(default_factory=dict)
    _ended: threading.Event = field(default_factory=threading.Event)
    _threads: list[threading.Thread] = field(default_factory=list)

    def __enter__(self) -> Self:
        for broker in self.addresses:
            thread = threading.Thread(target=self._ask_on, args=(broker,), daemon=True)
            self._threads.append(thread)
            thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        for thread in self._threads:
            thread.join()

    def _ask_on(self, broker: int) -> None:
        connection: socket.socket | None = None
        request = encoded(self.topics)
        while not self._ended.is_set():
            sent, led = time.time(), set[str]()
            try:
                if connection is None:
                    host, _, port = self.addresses[broker].rpartition(":")
                    connection = socket.create_connection((host, int(port)), timeout=_TIMEOUT_S)
                connection.sendall(request)
                led = decoded(_frame(connection))
            except OSError:
                if connection is not None:
                    connection.close()
                connection = None
            self._note(broker, sent, time.time(), led)
            self._ended.wait(_EVERY_S)
        if connection is not None:
            connection.close()

    def _note(self, broker: int, sent: float, received: float, led: set[str]) -> None:
        for topic, count in self.topics.items():
            for number in range(count):
                name = f"{topic}-{number}"
                answers = self.answers.setdefault((broker, name), [])
                is_led = name in led
                # The first and the last of a row of equal answers bound each change. The first one may be
                # to a question of before the change, and then the second one proves it.
                if [each.led for each in answers[-3:]] == [is_led] * 3:
                    answers.pop()
                answers.append(Answer(sent, received, is_led))


def encoded(topics: Mapping[str, int]) -> bytes:
    """Encode a request about all partitions of topics, with its length."""
    named = [
        _text(topic.encode())
        + struct.pack(">i", count)
        + b"".join(struct.pack(">iq", number, _EARLIEST) for number in range(count))
        for topic, count in topics.items()
    ]
    body = struct.pack(">ii", _CONSUMER, len(named)) + b"".join(named)
    frame = struct.pack(">hhi", _LIST_OFFSETS, _VERSION, 0) + _text(_CLIENT) + body
    return struct.pack(">i", len(frame)) + frame


def decoded(frame: bytes) -> set[str]:
    """Return the partitions for which a response has no error."""
    led: set[str] = set()
    at = 4  # behind the correlation id
    (topics,) = struct.unpack_from(">i", frame, at)
    at += 4
    for _ in range(topics):
        (length,) = struct.unpack_from(">h", frame, at)
        topic = frame[at + 2 : at + 2 + length].decode()
        (partitions,) = struct.unpack_from(">i", frame, at + 2 + length)
        at += 6 + length
        for _ in range(partitions):
            number, error, _, _ = struct.unpack_from(">ihqq", frame, at)
            at += 22
            if error == 0:
                led.add(f"{topic}-{number}")
    return led


def _text(data: bytes) -> bytes:
    return struct.pack(">h", len(data)) + data


def _frame(connection: socket.socket) -> bytes:
    (length,) = struct.unpack(">i", _exactly(connection, 4))
    return _exactly(connection, length)


def _exactly(connection: socket.socket, count: int) -> bytes:
    parts: list[bytes] = []
    while count:
        part = connection.recv(count)
        if not part:
            raise ConnectionResetError("the broker closed the connection")
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
