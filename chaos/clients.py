"""The ordinary Kafka clients a workload works through, each behind the same two small doors.

Two independent implementations of the protocol: librdkafka (confluent-kafka) and kafka-python. Both are
idempotent and ``acks=all``, with their defaults but for a shorter back-off, since the cluster is to be
measured, and one request at a time, since the cluster is to be judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

import confluent_kafka
import kafka
import kafka.errors

from barnabas.cluster.model.ids import TopicPartition

METADATA_REFRESH_MS = 10_000
"""librdkafka holds a topic for unknown until it looks again, by default for 5 minutes; and so a broker calls
every topic that has waited for the controller as long as it may (``broker.lifecycle.first_metadata``), or
that was made
before the controller's word of it arrived."""

RECONNECT_BACKOFF_MS_MAX = 500
"""Clients wait up to 10 or 30 s by default before they try a dead broker again."""

REQUESTS_IN_FLIGHT = 1
"""How many requests librdkafka may have under way to a broker.

With more, it writes records twice where leaders move. A request of few records is refused with
NOT_LEADER_OR_FOLLOWER, the next one is already on its way, reaches the broker when it leads, and is refused
for the gap in its sequence. librdkafka then begins a new producer epoch for all its partitions, and numbers
the records anew, also those that another partition's old leader has appended but could not acknowledge any
more. In the new epoch nobody can know them again. (librdkafka issue 4953; no broker can help it.)
"""

QUEUE_FULL_WAIT_S = 0.05
"""How long a producer whose queue is full works on its answers before it tries again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """What the client says became of a record.

    Attributes:
        offset: Where it stands, None where the client was not told; meaningless on error.
        error: None where it was acknowledged.
        certain: On error: whether it can be in no log.
    """

    offset: int | None = None
    error: str | None = None
    certain: bool = False


class Producer(Protocol):
    """Writes records to the partitions it is told."""

    def send(self, partition: TopicPartition, value: bytes, done: Callable[[Delivery], None]) -> None:
        """Queue a record; ``done`` is called once, from any thread, when its outcome is known."""
        ...

    def poll(self) -> None:
        """Let outcomes that have arrived be told."""
        ...

    def close(self, timeout_s: float) -> None:
        """Wait for outcomes, at most so long, and end."""
        ...


class Reader(Protocol):
    """Reads whole partitions from their first record on."""

    def poll(self) -> Iterable[tuple[TopicPartition, int, bytes]]:
        """Records that have arrived: partition, offset, value; empty where none came for a moment."""
        ...

    def position(self, partition: TopicPartition) -> int:
        """The next offset to be read."""
        ...

    def end(self, partition: TopicPartition) -> int | None:
        """The partition's high watermark as its leader tells it now, None where none answers."""
        ...

    def close(self) -> None:
        """Hang up."""
        ...


class ConfluentProducer:
    """confluent-kafka, that is librdkafka.

    Args:
        bootstrap: ``host:port,…``.
        settings: What differs from the settings of every run.
    """

    _CERTAIN = frozenset(
        {
            confluent_kafka.KafkaError.MSG_SIZE_TOO_LARGE,
            confluent_kafka.KafkaError.RECORD_LIST_TOO_LARGE,
        }
    )

    def __init__(self, bootstrap: str, settings: dict[str, str | int | bool] | None = None) -> None:
        self._client = confluent_kafka.Producer(
            {
                "bootstrap.servers": bootstrap,
                "enable.idempotence": True,
                "acks": "all",
                "linger.ms": 5,
                "max.in.flight.requests.per.connection": REQUESTS_IN_FLIGHT,
                "reconnect.backoff.max.ms": RECONNECT_BACKOFF_MS_MAX,
                "topic.metadata.refresh.interval.ms": METADATA_REFRESH_MS,
                "log_level": 2,
                **(settings or {}),
            }
        )

    def send(self, partition: TopicPartition, value: bytes, done: Callable[[Delivery], None]) -> None:
        """As the protocol says; waits while the queue is full.

        Raises:
            confluent_kafka.KafkaException: The client has failed for good.
        """

        def report(error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
            if error is None:
                offset = message.offset()
                done(Delivery(offset=offset if offset is not None and offset >= 0 else None))
            else:
                done(Delivery(error=error.name(), certain=error.code() in self._CERTAIN))

        while True:
            try:
                self._client.produce(
                    partition.topic, value=value, partition=partition.partition, on_delivery=report
                )
            except BufferError:
                self._client.poll(QUEUE_FULL_WAIT_S)
            except confluent_kafka.KafkaException as error:
                told = error.args[0]
                if told.fatal():
                    raise
                # It was not queued: a broker that has just started knew no topics yet, say.
                done(Delivery(error=told.name(), certain=True))
                return
            else:
                return

    def poll(self) -> None:
        """As the protocol says."""
        self._client.poll(0)

    def close(self, timeout_s: float) -> None:
        """As the protocol says."""
        self._client.flush(timeout_s)


class KafkaPythonProducer:
    """kafka-python.

    Args:
        bootstrap: ``host:port,…``.
        settings: What differs from the settings of every run.
    """

    _CERTAIN = (kafka.errors.MessageSizeTooLargeError, kafka.errors.RecordListTooLargeError)

    def __init__(self, bootstrap: str, settings: dict[str, str | int | bool] | None = None) -> None:
        usual = {
            "acks": "all",
            "enable_idempotence": True,
            "linger_ms": 5,
            "reconnect_backoff_max_ms": RECONNECT_BACKOFF_MS_MAX,
        }
        self._client = kafka.KafkaProducer(
            bootstrap_servers=bootstrap.split(","), **{**usual, **(settings or {})}
        )

    def send(self, partition: TopicPartition, value: bytes, done: Callable[[Delivery], None]) -> None:
        """As the protocol says; waits while the topic is not known yet."""
        try:
            future = self._client.send(partition.topic, value=value, partition=partition.partition)
        except kafka.errors.KafkaError as error:
            # It was not queued: nobody told of the topic in time, or the queue stayed full.
            done(Delivery(error=repr(error), certain=True))
            return
        future.add_callback(
            lambda placed: done(Delivery(offset=placed.offset if placed.offset >= 0 else None))
        )
        future.add_errback(
            lambda error: done(Delivery(error=repr(error), certain=isinstance(error, self._CERTAIN)))
        )

    def poll(self) -> None:
        """Nothing to do: the client has a thread of its own."""

    def close(self, timeout_s: float) -> None:
        """As the protocol says."""
        self._client.close(timeout=timeout_s)


class ConfluentReader:
    """confluent-kafka with assigned partitions, outside of any group."""

    _TIMEOUT_S = 1.0

    def __init__(self, bootstrap: str, partitions: Iterable[TopicPartition]) -> None:
        self._client = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "judge",  # librdkafka insists on one; it is never joined
                "enable.auto.commit": False,
                "auto.offset.reset": "error",
                "reconnect.backoff.max.ms": RECONNECT_BACKOFF_MS_MAX,
                "topic.metadata.refresh.interval.ms": METADATA_REFRESH_MS,
                "log_level": 2,
            }
        )
        self._positions = dict.fromkeys(partitions, 0)
        self._client.assign([confluent_kafka.TopicPartition(*tp, 0) for tp in self._positions])

    def poll(self) -> Iterable[tuple[TopicPartition, int, bytes]]:
        """As the protocol says; errors are the client's to retry."""
        records = []
        for message in self._client.consume(1000, timeout=0.2):
            topic, partition, offset = message.topic(), message.partition(), message.offset()
            value = message.value()
            if message.error() is not None:
                continue
            if topic is None or partition is None or offset is None or not isinstance(value, bytes):
                raise ValueError(f"{topic}-{partition} gave {value!r} at offset {offset}, expected bytes")
            tp = TopicPartition(topic, partition)
            self._positions[tp] = offset + 1
            records.append((tp, offset, value))
        return records

    def position(self, partition: TopicPartition) -> int:
        """As the protocol says."""
        return self._positions[partition]

    def end(self, partition: TopicPartition) -> int | None:
        """As the protocol says."""
        try:
            _, end = self._client.get_watermark_offsets(
                confluent_kafka.TopicPartition(*partition), timeout=self._TIMEOUT_S
            )
        except confluent_kafka.KafkaException:
            return None
        return int(end)

    def close(self) -> None:
        """As the protocol says."""
        self._client.close()


class KafkaPythonReader:
    """kafka-python with assigned partitions, outside of any group."""

    def __init__(self, bootstrap: str, partitions: Iterable[TopicPartition]) -> None:
        self._client = kafka.KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            group_id=None,
            enable_auto_commit=False,
            reconnect_backoff_max_ms=RECONNECT_BACKOFF_MS_MAX,
        )
        mine = [kafka.TopicPartition(*tp) for tp in partitions]
        self._client.assign(mine)
        for tp in mine:
            self._client.seek(tp, 0)

    def poll(self) -> Iterable[tuple[TopicPartition, int, bytes]]:
        """As the protocol says."""
        return [
            (TopicPartition(tp.topic, tp.partition), record.offset, record.value)
            for tp, records in self._client.poll(timeout_ms=200, max_records=1000).items()
            for record in records
        ]

    def position(self, partition: TopicPartition) -> int:
        """As the protocol says."""
        return int(self._client.position(kafka.TopicPartition(*partition)))

    def end(self, partition: TopicPartition) -> int | None:
        """As the protocol says."""
        asked = kafka.TopicPartition(*partition)
        try:
            return int(self._client.end_offsets([asked])[asked])
        except kafka.errors.KafkaError:
            return None

    def close(self) -> None:
        """As the protocol says."""
        self._client.close()


@dataclass(frozen=True, slots=True)
class Library:
    """A client library: how to get a producer and a reader of it."""

    producer: Callable[[str], Producer]
    reader: Callable[[str, Iterable[TopicPartition]], Reader]


LIBRARIES: dict[str, Library] = {
    "confluent-kafka": Library(ConfluentProducer, ConfluentReader),
    "kafka-python": Library(KafkaPythonProducer, KafkaPythonReader),
}
