"""The Kafka clients of a workload, behind a common interface for producers and one for readers.

The clients are two independent implementations of the protocol: librdkafka (confluent-kafka) and
kafka-python. Both are idempotent with ``acks=all`` and use their defaults with two exceptions: a shorter
back-off, so that stalls measure the cluster and not the client, and one request in flight, so that errors of
the client are not blamed on the cluster.
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
"""The interval in ms at which librdkafka refreshes metadata; the default is 5 minutes.

librdkafka treats a topic as unknown until the next refresh. A broker reports a topic as unknown before it has
received the topic's metadata, also if it has started without any (``broker.lifecycle.first_metadata``).
"""

RECONNECT_BACKOFF_MS_MAX = 500
"""The longest back-off before reconnecting to a dead broker; the clients' defaults are 10 and 30 s."""

REQUESTS_IN_FLIGHT = 1
"""The number of requests that librdkafka may have in flight to a broker.

With more than one, librdkafka writes records twice when leaders move. A first request is refused with
NOT_LEADER_OR_FOLLOWER. The second one, already in flight, reaches the broker after it became leader and is
refused for the gap in its sequence. librdkafka then starts a new producer epoch for all partitions and
renumbers the records, including those that another partition's old leader appended but could not acknowledge.
In the new epoch no broker can recognize them (librdkafka issue 4953).
"""

QUEUE_FULL_WAIT_S = 0.05
"""The seconds for which a producer with a full queue handles responses before it tries again."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """The outcome of a record, as the client reports it.

    Attributes:
        offset: The record's offset; None if the client did not learn it; meaningless on error.
        error: The client's error; None if the record was acknowledged.
        certain: Whether, after an error, the record is certainly in no log.
    """

    offset: int | None = None
    error: str | None = None
    certain: bool = False


class Producer(Protocol):
    """A client that writes records to given partitions."""

    def send(self, partition: TopicPartition, value: bytes, done: Callable[[Delivery], None]) -> None:
        """Queue a record and call ``done`` once, from any thread, when its outcome is known."""
        ...

    def poll(self) -> None:
        """Report the outcomes that have arrived."""
        ...

    def close(self, timeout_s: float) -> None:
        """Wait for outcomes for at most ``timeout_s`` seconds, then close the client."""
        ...


class Reader(Protocol):
    """A client that reads whole partitions from their first record on."""

    def poll(self) -> Iterable[tuple[TopicPartition, int, bytes]]:
        """Return the records that arrived as (partition, offset, value); empty if none came for a moment."""
        ...

    def position(self, partition: TopicPartition) -> int:
        """Return the next offset to read."""
        ...

    def end(self, partition: TopicPartition) -> int | None:
        """Ask the partition's leader for the high watermark; None if no broker answers."""
        ...

    def close(self) -> None:
        """Close the connections."""
        ...


class ConfluentProducer:
    """A producer of confluent-kafka, which wraps librdkafka.

    Args:
        bootstrap: ``host:port,…``.
        settings: Settings that override those of every run.
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
        """Queue a record as in ``Producer``, waiting while the queue is full.

        Raises:
            confluent_kafka.KafkaException: The client failed permanently.
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
                problem = error.args[0]
                if problem.fatal():
                    raise
                # The record was not queued, for example because a broker that just started knows no topics
                # yet.
                done(Delivery(error=problem.name(), certain=True))
                return
            else:
                return

    def poll(self) -> None:
        """Report the outcomes that have arrived."""
        self._client.poll(0)

    def close(self, timeout_s: float) -> None:
        """Wait for outcomes, then close the client."""
        self._client.flush(timeout_s)


class KafkaPythonProducer:
    """A producer of kafka-python.

    Args:
        bootstrap: ``host:port,…``.
        settings: Settings that override those of every run.
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
        """Queue a record as in ``Producer``, waiting while the topic is unknown."""
        try:
            future = self._client.send(partition.topic, value=value, partition=partition.partition)
        except kafka.errors.KafkaError as error:
            # The record was not queued: the topic stayed unknown, or the queue stayed full.
            done(Delivery(error=repr(error), certain=True))
            return
        future.add_callback(
            lambda placed: done(Delivery(offset=placed.offset if placed.offset >= 0 else None))
        )
        future.add_errback(
            lambda error: done(Delivery(error=repr(error), certain=isinstance(error, self._CERTAIN)))
        )

    def poll(self) -> None:
        """Do nothing: the client reports outcomes from a thread of its own."""

    def close(self, timeout_s: float) -> None:
        """Wait for outcomes, then close the client."""
        self._client.close(timeout=timeout_s)


class ConfluentReader:
    """A reader of confluent-kafka with assigned partitions and without a group."""

    _TIMEOUT_S = 1.0

    def __init__(self, bootstrap: str, partitions: Iterable[TopicPartition]) -> None:
        self._client = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "judge",  # librdkafka requires one; the group is never joined
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
        """Return records as in ``Reader``; the client itself retries after errors."""
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
        """Return the next offset to read."""
        return self._positions[partition]

    def end(self, partition: TopicPartition) -> int | None:
        """Ask the partition's leader for the high watermark; None if no broker answers."""
        try:
            _, end = self._client.get_watermark_offsets(
                confluent_kafka.TopicPartition(*partition), timeout=self._TIMEOUT_S
            )
        except confluent_kafka.KafkaException:
            return None
        return int(end)

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


class KafkaPythonReader:
    """A reader of kafka-python with assigned partitions and without a group."""

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
        """Return the records that arrived; empty if none came for a moment."""
        return [
            (TopicPartition(tp.topic, tp.partition), record.offset, record.value)
            for tp, records in self._client.poll(timeout_ms=200, max_records=1000).items()
            for record in records
        ]

    def position(self, partition: TopicPartition) -> int:
        """Return the next offset to read."""
        return int(self._client.position(kafka.TopicPartition(*partition)))

    def end(self, partition: TopicPartition) -> int | None:
        """Ask the partition's leader for the high watermark; None if no broker answers."""
        asked = kafka.TopicPartition(*partition)
        try:
            return int(self._client.end_offsets([asked])[asked])
        except kafka.errors.KafkaError:
            return None

    def close(self) -> None:
        """Close the connections."""
        self._client.close()


@dataclass(frozen=True, slots=True)
class Library:
    """A client library, with the functions that create its producer and its reader."""

    producer: Callable[[str], Producer]
    reader: Callable[[str, Iterable[TopicPartition]], Reader]


LIBRARIES: dict[str, Library] = {
    "confluent-kafka": Library(ConfluentProducer, ConfluentReader),
    "kafka-python": Library(KafkaPythonProducer, KafkaPythonReader),
}
