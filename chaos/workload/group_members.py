"""Members of a consumer group that read while faults are injected, and commit what they have read."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import confluent_kafka

from barnabas.cluster.model.ids import Offset, TopicPartition
from barnabas.local.waiting import wait_until
from barnabas.workload.client_thread import ClientThread
from barnabas.workload.clients import METADATA_REFRESH_MS, RECONNECT_BACKOFF_MS_MAX
from barnabas.workload.history import Committed, Fetched, History

GROUP = "chaos"
SESSION_MS = 6_000
COMMIT_EVERY_S = 0.2
BATCH_RECORDS = 500
FETCH_TIMEOUT_S = 10.0


class GroupMember:
    """A thread with one consumer of librdkafka that commits what it has read until it is stopped.

    Args:
        bootstrap: ``bootstrap.servers``.
        topics: The topics to subscribe to.
        history: The history to which acknowledged commits are appended.
        process: The member's name in the history.
    """

    def __init__(self, bootstrap: str, topics: Sequence[str], history: History, process: str) -> None:
        self._consumer = confluent_kafka.Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": GROUP,
                "client.id": process,
                "auto.offset.reset": "earliest",
                "enable.auto.commit": False,
                "session.timeout.ms": SESSION_MS,
                "topic.metadata.refresh.interval.ms": METADATA_REFRESH_MS,
                "reconnect.backoff.max.ms": RECONNECT_BACKOFF_MS_MAX,
                "log_level": 2,
            }
        )
        self._topics = list(topics)
        self._history = history
        self._process = process
        self._thread = ClientThread(process, self._read)

    def start(self) -> None:
        """Join the group."""
        self._thread.start()

    def halt(self) -> None:
        """Stop without waiting."""
        self._thread.halt()

    def stop(self) -> None:
        """Leave the group and wait for the thread.

        Raises:
            Exception: The exception that ended the thread early.
        """
        self._thread.join()
        self._consumer.close()
        self._thread.check()

    def _read(self) -> None:
        self._consumer.subscribe(self._topics)
        while not self._thread.is_stopping:
            positions: dict[TopicPartition, int] = {}
            for message in self._consumer.consume(BATCH_RECORDS, COMMIT_EVERY_S):
                topic, partition, offset = message.topic(), message.partition(), message.offset()
                if message.error() is not None:
                    continue  # the client itself tries again
                assert topic is not None
                assert partition is not None
                assert offset is not None
                positions[TopicPartition(topic, partition)] = offset + 1
            if positions:
                self._commit(positions)

    def _commit(self, positions: dict[TopicPartition, int]) -> None:
        asked = self._history.now()
        try:
            answers = self._consumer.commit(
                offsets=[confluent_kafka.TopicPartition(*tp, at) for tp, at in positions.items()],
                asynchronous=False,
            )
        except confluent_kafka.KafkaException:
            return  # the group rebalances, or no coordinator answers: the records are read again
        now = self._history.now()
        for each in answers or ():
            if each.error is None:
                tp = TopicPartition(each.topic, each.partition)
                self._history.add(Committed(now, self._process, tp, asked, Offset(each.offset)))


def fetch_commits(
    bootstrap: str, partitions: Iterable[TopicPartition], history: History, timeout_s: float
) -> None:
    """Ask what the group has committed, and append that to the history.

    Raises:
        TimeoutError: No coordinator answered in time.
    """
    consumer = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "log_level": 2})
    wanted = [confluent_kafka.TopicPartition(*tp) for tp in partitions]
    asked = history.now()

    def fetched() -> list[confluent_kafka.TopicPartition]:
        try:
            found: list[confluent_kafka.TopicPartition] = consumer.committed(wanted, FETCH_TIMEOUT_S)
        except confluent_kafka.KafkaException:
            return []
        return [] if any(each.error for each in found) else found

    try:
        found = wait_until(fetched, "the commits of the group", timeout_s)
    finally:
        consumer.close()
    for each in found:
        offset = None if each.offset < 0 else Offset(each.offset)
        tp = TopicPartition(each.topic, each.partition)
        history.add(Fetched(history.now(), GROUP, tp, asked, offset))
