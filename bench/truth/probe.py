"""A client that asks every broker, every few milliseconds, which partitions it leads.

ListOffsets is answered by the leader alone, so no cache of metadata stands between. The request is of version
1, which Kafka 0.10 to 4.x serve.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from types import TracebackType
from typing import NamedTuple, Self

from kio.schema.errors import ErrorCode
from kio.schema.list_offsets.v1.request import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from kio.schema.list_offsets.v1.response import ListOffsetsResponse
from kio.schema.types import BrokerId, TopicName
from kio.static.primitive import i32, i64

from barnabas.bench.clients.connection import Connection

_CONSUMER, _EARLIEST = BrokerId(-1), i64(-2)
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
        connection: Connection | None = None
        request = _request(self.topics)
        while not self._ended.is_set():
            sent, led = time.time(), set[str]()
            try:
                if connection is None:
                    connection = Connection(self.addresses[broker], _TIMEOUT_S)
                led = _led(connection.ask(request, ListOffsetsResponse))
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


def _request(topics: Mapping[str, int]) -> ListOffsetsRequest:
    """Return a request about all partitions of topics."""
    return ListOffsetsRequest(
        replica_id=_CONSUMER,
        topics=tuple(
            ListOffsetsTopic(
                name=TopicName(topic),
                partitions=tuple(
                    ListOffsetsPartition(partition_index=i32(number), timestamp=_EARLIEST)
                    for number in range(count)
                ),
            )
            for topic, count in topics.items()
        ),
    )


def _led(response: ListOffsetsResponse) -> set[str]:
    """Return the partitions for which a response has no error."""
    return {
        f"{topic.name}-{partition.partition_index}"
        for topic in response.topics
        for partition in topic.partitions
        if partition.error_code is ErrorCode.none
    }
